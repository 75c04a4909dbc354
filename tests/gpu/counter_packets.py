"""The hardware counters of a trace, from the format's specification alone (proto/README.md, counter.proto).

Counters holds what trace_file.py hands it, packet field by packet field; values of a sample are in the order of its
group's metrics.
"""

import dataclasses
import math

import wire_format
from wire_format import DamagedTrace

# gpuexec.v1.Packet
_WINDOW, _GROUP, _PLAN, _SESSION, _BATCH, _ACCESS, _DENIAL, _PEAKS = 16, 17, 18, 19, 32, 33, 34, 35

WINDOW_TIMING, WINDOW_COUNTERS = 1, 2
KIND_HARDWARE, KIND_SASS, KIND_TENSOR = 1, 2, 3
FLAG_FIRST_OF_SESSION, FLAG_AFTER_SWITCH, FLAG_VOID, FLAG_REPLAYED = 1, 2, 4, 8
SESSION_OUTCOMES = {0: "open", 1: "complete", 2: "failed", 3: "abandoned", 4: "context gone"}
DENIAL_REASONS = {1: "name", 2: "user", 3: "cooperative", 4: "peer memory", 5: "deadline", 6: "failed", 7: "ipc memory",
                  8: "symmetric heap", 9: "table full"}
ACCESS_STATES = {1: "allowed", 2: "not permitted", 3: "unsupported", 4: "no library", 5: "held by other", 6: "off"}

MAX_METRICS = 4096


@dataclasses.dataclass(frozen=True)
class Group:
    iid: int
    name: str
    kind: int
    device_id: int
    chip: str
    metrics: tuple
    spare: bool


@dataclasses.dataclass(frozen=True)
class Window:
    window_id: int
    kind: int
    begin_ns: int
    # None: never closed.
    end_ns: int | None
    switch_cost_ns: int


@dataclasses.dataclass(frozen=True)
class Session:
    session_id: int
    window_id: int
    context_id: int
    group_iid: int
    begin_ns: int
    end_ns: int | None
    outcome: str
    cupti_result: int
    ranges: int
    push_ns: int
    pop_ns: int
    idle_wait_ns: int
    completion_wait_ns: int
    enable_ns: int
    start_ns: int
    stop_ns: int
    decode_ns: int
    disable_ns: int

    @property
    def program_ns(self):
        """Inside our calls on the program's threads."""
        return self.push_ns + self.pop_ns + self.idle_wait_ns + self.completion_wait_ns

    @property
    def switch_ns(self):
        """Inside our calls on the thread that switches."""
        return self.enable_ns + self.start_ns + self.stop_ns + self.decode_ns + self.disable_ns

    @property
    def cost_ns(self):
        return self.program_ns + self.switch_ns


@dataclasses.dataclass(frozen=True)
class Denial:
    # 0: the graph, or where that is 0 everything in the context.
    function_iid: int
    reason: str
    monotonic_ns: int
    detail: str
    context_id: int
    graph_exec_id: int

    @property
    def place(self):
        if self.function_iid:
            return f"function {self.function_iid}"
        return f"graph {self.graph_exec_id}" if self.graph_exec_id else f"context {self.context_id}"


@dataclasses.dataclass(frozen=True)
class Sample:
    group_iid: int
    session_id: int
    window_id: int
    context_id: int
    enter_ns: int
    correlation_id: int
    thread_id: int
    signature_iid: int
    graph_exec_id: int
    range_order: int
    flags: int
    launch_number: int
    values: tuple

    @property
    def valid(self):
        return not self.flags & FLAG_VOID

    @property
    def clean(self):
        """Its values may be compared with an answer known on paper."""
        return not self.flags & (FLAG_VOID | FLAG_FIRST_OF_SESSION)


class Counters:
    def __init__(self):
        self.windows = {}
        self.groups = {}
        self.sessions = {}
        # Device id -> group iids in the order of collection; dropped metrics as (name, text).
        self.plans = {}
        self.dropped = []
        # Device id -> (state, text).
        self.access = {}
        self.denials = []
        self.samples = []
        # Metric -> per cycle; of the last device that has it.
        self.peaks = {}

    # ------------------------------------------------------------------------------------------------ questions

    def windows_of(self, kind):
        return [window for window in self.windows.values() if window.kind == kind]

    def metrics(self, sample):
        return self.groups[sample.group_iid].metrics

    def value(self, sample, metric):
        """The sample's value; None where its group does not hold the metric, NaN where CUPTI could not give it."""
        metrics = self.metrics(sample)
        return sample.values[metrics.index(metric)] if metric in metrics else None

    def values_by_signature(self, metric, only_clean=True):
        """{signature iid: [values]} of kernel launches; NaN is left out."""
        found = {}
        for sample in self.samples:
            if sample.signature_iid == 0 or not (sample.clean if only_clean else sample.valid):
                continue
            value = self.value(sample, metric)
            if value is not None and not math.isnan(value):
                found.setdefault(sample.signature_iid, []).append(value)
        return found

    def planned_groups(self, device_id=0):
        return [self.groups[iid] for iid in self.plans.get(device_id, []) if iid in self.groups]

    def cost_ns(self):
        return sum(session.cost_ns for session in self.sessions.values())

    # ------------------------------------------------------------------------------------------------ reading

    def read_packet_field(self, data, number, span):
        """Whether the field was one of counters or windows."""
        reader = {
            _WINDOW: self._window,
            _GROUP: self._group,
            _PLAN: self._plan,
            _SESSION: self._session,
            _BATCH: self._batch,
            _ACCESS: self._access,
            _DENIAL: self._denial,
            _PEAKS: self._peaks,
        }.get(number)
        if reader is None:
            return False
        reader(data, span)
        return True

    def _window(self, data, span):
        m = wire_format.message(data, span)
        self.windows[m.get(1, 0)] = Window(m.get(1, 0), m.get(2, 0), m.get(3, 0), m.get(4), m.get(5, 0))

    def _group(self, data, span):
        m = wire_format.message(data, span)
        metrics = [_text(data, value) for number, value in wire_format.fields(data, *span) if number == 6]
        if len(metrics) > MAX_METRICS:
            raise DamagedTrace(f"counter group of {len(metrics)} metrics")
        self.groups[m.get(1, 0)] = Group(m.get(1, 0), _text(data, m.get(2)), m.get(3, 0), m.get(4, 0), _text(data, m.get(5)),
                                         tuple(metrics), bool(m.get(7, 0)))

    def _plan(self, data, span):
        m = wire_format.message(data, span, repeated=(4,))
        self.plans[m.get(1, 0)] = m.get(4, [])
        for number, value in wire_format.fields(data, *span):
            if number == 5:
                dropped = wire_format.message(data, value)
                self.dropped.append((_text(data, dropped.get(1)), _text(data, dropped.get(3))))

    def _session(self, data, span):
        m = wire_format.message(data, span)
        self.sessions[m.get(1, 0)] = Session(
            *(m.get(number, 0) for number in (1, 2, 3, 4, 5)), m.get(6), SESSION_OUTCOMES.get(m.get(7, 0), str(m.get(7, 0))),
            *(m.get(number, 0) for number in (8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18)))

    def _access(self, data, span):
        m = wire_format.message(data, span)
        self.access[m.get(1, 0)] = (ACCESS_STATES.get(m.get(2, 0), str(m.get(2, 0))), _text(data, m.get(5)))

    def _denial(self, data, span):
        m = wire_format.message(data, span)
        self.denials.append(Denial(m.get(1, 0), DENIAL_REASONS.get(m.get(2, 0), str(m.get(2, 0))), m.get(3, 0),
                                   _text(data, m.get(4)), m.get(5, 0), m.get(6, 0)))

    def _peaks(self, data, span):
        for number, value in wire_format.fields(data, *span):
            if number == 3:
                peak = wire_format.message(data, value)
                self.peaks[_text(data, peak.get(1))] = _double(peak.get(2, 0))

    def _batch(self, data, span):
        m = wire_format.message(data, span, repeated=(8, 10, 11, 12, 13, 15, 16, 18, 19, 21))
        count, width = m.get(1, 0), m.get(17, 0)
        real_metrics = m.get(18, [])
        if not 1 <= width <= MAX_METRICS or real_metrics != sorted(set(real_metrics)) or any(i >= width for i in real_metrics):
            raise DamagedTrace(f"counter batch of {width} metrics, of which {real_metrics} are real")
        group = self.groups.get(m.get(2, 0))
        if group is None or len(group.metrics) != width:
            raise DamagedTrace(f"counter batch of {width} metrics for group {m.get(2, 0)}, which is {group}")
        # As written: unpacked doubles do not occur.
        reals = wire_format.doubles(data, [value for number, value in wire_format.fields(data, *span) if number == 20])
        deltas = m.get(19, [])
        whole = width - len(real_metrics)
        if len(deltas) != count * whole or len(reals) != count * len(real_metrics):
            raise DamagedTrace(f"counter batch of {count} x {width} values holds {len(deltas)} and {len(reals)}")
        enters = wire_format.running(m.get(6, 0), m.get(8), count, unit=m.get(7, 0) or 1)
        correlations = wire_format.running(m.get(9, 0), m.get(10), count)
        orders = wire_format.running(m.get(14, 0), m.get(15), count, signed=False)
        threads, signatures, graphs, flags, launches = (
            wire_format.column(m.get(number), count) for number in (11, 12, 13, 16, 21))
        is_real = [False] * width
        for index in real_metrics:
            is_real[index] = True
        previous, by_identity = [0] * whole, {}
        for i in range(count):
            identity = (signatures[i], graphs[i])
            reference = by_identity.get(identity, previous)
            integers = [r + wire_format.unzigzag(d) for r, d in zip(reference, deltas[i * whole : (i + 1) * whole])]
            previous = by_identity[identity] = integers
            next_integer, next_real = iter(integers), iter(reals[i * len(real_metrics) : (i + 1) * len(real_metrics)])
            values = tuple(next(next_real) if real else next(next_integer) for real in is_real)
            self.samples.append(Sample(m.get(2, 0), m.get(3, 0), m.get(4, 0), m.get(5, 0), enters[i], correlations[i], threads[i],
                                       signatures[i], graphs[i], orders[i], flags[i], launches[i], values))


def _text(data, span):
    return data[span[0] : span[1]].decode("utf-8", "surrogateescape") if span else ""


def _double(bits):
    return wire_format.doubles(bits.to_bytes(8, "little"), [(0, 8)])[0]
