"""Reads a gpuexec trace from the format's specification alone (proto/README.md), with nothing but Python.

A second reader on purpose: it shares no code with the analyzer, so that the GPU checks do not ask a program about
itself. It reads what the checks need and skips the rest; it holds the whole file in memory.
"""

import collections
import ctypes
import dataclasses

import counter_packets
import wire_format
from wire_format import DamagedTrace

MAGIC = 0x31465847

# gpuexec.v1.Packet
_NAME, _FUNCTION, _SIGNATURE, _ATTRIBUTES, _DOMAIN, _GRAPH_NODE = 4, 10, 11, 12, 13, 14
_LAUNCHES, _KERNELS, _MEMORY, _NVTX, _STATS, _KERNEL_SUMMARY, _LAUNCH_SUMMARY = 20, 21, 22, 25, 28, 30, 31
_HEADER, _TRAILER, _DIAGNOSTIC, _RECORD_GAP = 2, 3, 29, 37

# gpuexec.v1.KernelBatch.Timing
TIMING_COMPLETE, TIMING_UNFINISHED = 1, 3
# gpuexec.v1.MemoryBatch.Kind
MEMORY_FILL = 3
# gpuexec.v1.Trailer.Reason
END_REASONS = {1: "exit", 2: "disabled", 3: "yielded"}
# CUpti_ActivityMemcpyKind
COPY_KINDS = {1: "h2d", 2: "d2h", 8: "d2d"}

# gpuexec.v1.Header
_VERSION_FIELDS = {
    1: "format_major",
    2: "format_minor",
    3: "gpuexec_version",
    4: "source_revision",
    13: "cuda_driver_api_version",
    14: "driver_version",
    15: "cupti_api_version",
    16: "cupti_path",
    17: "libcuda_path",
    18: "kernel_record_version",
}


@dataclasses.dataclass(frozen=True)
class Shape:
    """How a kernel was launched, and what its code needs. A cluster of (0, 0, 0) is none."""

    name: str
    grid: tuple
    block: tuple
    cluster: tuple
    registers: int
    static_shared: int
    dynamic_shared: int


@dataclasses.dataclass
class RecordGap:
    """A span without kernel records, on CLOCK_MONOTONIC; no end: until the end of the trace."""

    begin_ns: int
    end_ns: int | None
    kernel_count: int
    clients: list


@dataclasses.dataclass
class Trace:
    file_bytes: int = 0
    complete: bool = True
    orderly_end: bool = False
    # Of END_REASONS, once the end is orderly.
    end_reason: str = ""
    # When the library was initialised, on CLOCK_MONOTONIC.
    start_monotonic_ns: int = 0
    stats: dict = dataclasses.field(default_factory=dict)
    # cupti_api_version, cupti_path, driver_version and the like, from the header.
    versions: dict = dataclasses.field(default_factory=dict)
    diagnostics: list = dataclasses.field(default_factory=list)
    # Kernels by what CUPTI's records say of them.
    kernels: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    untimed: int = 0
    # Of these, kernels that were still running.
    unfinished: int = 0
    # By their ids.
    record_gaps: dict = dataclasses.field(default_factory=dict)
    # Of the kernels and launches counted here: those that the trace keeps in summaries only, after its size limit.
    summarised_kernels: int = 0
    summarised_launches: int = 0
    # Launch calls by what the launch itself asked for (registers and static shared memory: the function's attributes).
    launches: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    # Entry of each successful kernel launch on CLOCK_MONOTONIC, in order.
    launch_times: list = dataclasses.field(default_factory=list)
    launch_flags: dict = dataclasses.field(default_factory=dict)
    unknown_launches: int = 0
    graph_launches: int = 0
    refused_launches: int = 0
    # Successful kernel launches in counter windows: untimed by design.
    launches_in_counter_windows: int = 0
    # Other successful kernel launches without a kernel of the same correlation id, and the other way round.
    launches_without_kernel: int = 0
    kernels_without_launch: int = 0
    graph_kernels: int = 0
    # Graph kernels whose node is unknown, or whose node says another name, grid or block than the record.
    graph_kernels_unknown: int = 0
    graph_kernels_differing: int = 0
    # Launches whose signature says another name, grid or block than the kernel's record.
    launches_differing: int = 0
    # (kind, bytes) -> copies; fills.
    copies: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    fills: int = 0
    # Ranges opened; (domain, name of the innermost pushed range) -> kernels launched under it.
    nvtx_ranges: int = 0
    kernels_by_range: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    # The same by the names of all open pushed ranges, outermost first: ("step", "forward").
    kernels_by_range_path: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    # Signatures of eager launches: in all, and with the driver's occupancy.
    eager_signatures: int = 0
    eager_signatures_with_occupancy: int = 0
    # Signature iid -> its shape. Signature iid -> durations of its eager launches that were timed, ns; graph exec id -> sum
    # over its kernels.
    signature_shapes: dict = dataclasses.field(default_factory=dict)
    durations_ns: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    graph_time_ns: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    # Function iid -> mangled name.
    function_names: dict = dataclasses.field(default_factory=dict)
    counters: counter_packets.Counters = dataclasses.field(default_factory=counter_packets.Counters)

    @property
    def kernel_count(self):
        return sum(self.kernels.values())

    @property
    def launch_count(self):
        return sum(self.launches.values()) + self.unknown_launches


_libstdcxx = None


def demangle(name):
    """As c++filt does; a name that is not mangled comes back as it is."""
    global _libstdcxx
    if _libstdcxx is None:
        _libstdcxx = ctypes.CDLL("libstdc++.so.6")
        _libstdcxx.__cxa_demangle.restype = ctypes.c_void_p
        _libstdcxx.free = ctypes.CDLL(None).free
        _libstdcxx.free.argtypes = [ctypes.c_void_p]
    status = ctypes.c_int()
    # getattr by string: inside a class body the two leading underscores would be rewritten, here they are not.
    pointer = getattr(_libstdcxx, "__cxa_demangle")(name.encode("utf-8", "surrogateescape"), None, None, ctypes.byref(status))
    if not pointer:
        return name
    try:
        return ctypes.string_at(pointer).decode("utf-8", "replace")
    finally:
        _libstdcxx.free(pointer)


# ---------------------------------------------------------------------------------------------------------- the trace


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return _Reader(data).trace


class _Reader:
    def __init__(self, data):
        self.data = data
        self.trace = Trace(file_bytes=len(data))
        self.names = {}
        self.domains = {}
        self.functions = collections.defaultdict(dict)
        self.signatures = collections.defaultdict(dict)
        self.attributes = collections.defaultdict(dict)
        self.nodes = collections.defaultdict(dict)
        # Records, kept until everything is defined.
        self.launch_by_correlation = {}
        self.launch_times = collections.defaultdict(list)
        self.kernel_rows = collections.Counter()
        self.kernel_by_correlation = {}
        self.graph_kernel_rows = collections.Counter()
        self.launch_rows = collections.Counter()
        self.nvtx_events = collections.defaultdict(list)
        # Made once everything is defined.
        self.record_shapes = {}
        self.launch_shapes = {}
        self.agreements = {}
        self._walk()
        self._resolve()

    def _walk(self):
        position = 0
        try:
            while position < len(self.data):
                tag, position = wire_format.varint(self.data, position)
                if tag != 0x0A:
                    raise DamagedTrace(f"no frame at offset {position}")
                length, position = wire_format.varint(self.data, position)
                if position + length > len(self.data):
                    raise DamagedTrace(f"frame cut at offset {position}")
                frame = wire_format.message(self.data, (position, position + length))
                if frame.get(1) != MAGIC or 3 not in frame:
                    raise DamagedTrace(f"no magic number at offset {position}")
                self._packet(frame[3])
                position += length
        except DamagedTrace as damage:
            self.trace.complete = False
            self.trace.diagnostics.append(f"reader: {damage}")

    def _text(self, span):
        return self.data[span[0] : span[1]].decode("utf-8", "surrogateescape")

    def _packet(self, span):
        fields = list(wire_format.fields(self.data, *span))
        for number, value in fields:
            if number == _NAME:
                message = wire_format.message(self.data, value)
                self.names[message[1]] = self._text(message.get(2, (0, 0)))
            elif number == _DOMAIN:
                message = wire_format.message(self.data, value)
                self.domains[message[1]] = self._text(message.get(2, (0, 0)))
            elif number == _FUNCTION:
                message = wire_format.message(self.data, value)
                if 6 in message:
                    message[6] = wire_format.message(self.data, message[6])
                self.functions[message[1]].update(message)
            elif number == _SIGNATURE:
                message = wire_format.message(self.data, value)
                if 21 in message:
                    message[21] = wire_format.message(self.data, message[21])
                self.signatures[message[1]].update(message)
            elif number == _ATTRIBUTES:
                message = wire_format.message(self.data, value)
                self.attributes[message[1]].update(message)
            elif number == _GRAPH_NODE:
                message = wire_format.message(self.data, value)
                # Of several definitions of a node a kernel may be described by any: which one held is a matter of time.
                self.nodes[message[1]].setdefault("signatures", set()).add(message.get(5, 0))
                self.nodes[message[1]].update(message)
            elif number == _STATS:
                counters = {}
                for field, counter in wire_format.fields(self.data, *value):
                    if field == 1:
                        message = wire_format.message(self.data, counter)
                        counters[message.get(1, 0)] = message.get(2, 0)
                self.trace.stats = counters
            elif number == _DIAGNOSTIC:
                message = wire_format.message(self.data, value)
                self.trace.diagnostics.append(self._text(message.get(2, (0, 0))))
            elif number == _RECORD_GAP:
                message = wire_format.message(self.data, value)
                clients = [self._text(span) for field, span in wire_format.fields(self.data, *value) if field == 5]
                # The last one of an id holds.
                self.trace.record_gaps[message.get(1, 0)] = RecordGap(message.get(2, 0), message.get(3), message.get(4, 0), clients)
            elif number == _HEADER:
                message = wire_format.message(self.data, value)
                for field, name in _VERSION_FIELDS.items():
                    found = message.get(field, 0)
                    self.trace.versions[name] = self._text(found) if isinstance(found, tuple) else found
                self.trace.start_monotonic_ns = wire_format.message(self.data, message.get(21, (0, 0))).get(2, 0)
            elif number == _TRAILER:
                reason = wire_format.message(self.data, value).get(1, 0)
                self.trace.orderly_end = True
                self.trace.end_reason = END_REASONS.get(reason, str(reason))
        for number, value in fields:
            if self.trace.counters.read_packet_field(self.data, number, value):
                continue
            if number == _LAUNCHES:
                self._launches(value)
            elif number == _KERNELS:
                self._kernels(value)
            elif number == _MEMORY:
                self._memory(value)
            elif number == _NVTX:
                self._nvtx(value)
            elif number == _KERNEL_SUMMARY:
                message = wire_format.message(self.data, value)
                self.kernel_rows[message.get(1, 0)] += message.get(3, 0)
                self.trace.summarised_kernels += message.get(3, 0)
            elif number == _LAUNCH_SUMMARY:
                message = wire_format.message(self.data, value)
                self.launch_rows[message.get(1, 0)] += message.get(2, 0)
                self.trace.summarised_launches += message.get(2, 0)

    def _launches(self, span):
        message = wire_format.message(self.data, span, repeated=(5, 7, 8, 9, 10, 11))
        count = message.get(1, 0)
        times = wire_format.running(message.get(4, 0), message.get(5), count, signed=False, unit=message.get(12, 0) or 1)
        correlations = wire_format.running(message.get(6, 0), message.get(7), count)
        signatures = wire_format.column(message.get(9), count)
        graphs = wire_format.column(message.get(10), count)
        results = wire_format.column(message.get(11), count)
        thread, window = message.get(2, 0), message.get(3, 0)
        for time, correlation, signature, graph, result in zip(times, correlations, signatures, graphs, results):
            if result != 0:
                self.trace.refused_launches += 1
            elif graph != 0:
                self.trace.graph_launches += 1
            else:
                self.launch_rows[signature] += 1
                self.launch_by_correlation[correlation] = (signature, window)
                self.launch_times[thread].append(time)

    def _kernels(self, span):
        message = wire_format.message(self.data, span, repeated=(5, 7, 9, 10, 11, 12, 13))
        count = message.get(1, 0)
        if message.get(2, 0) != TIMING_COMPLETE:
            self.trace.untimed += count
        if message.get(2, 0) == TIMING_UNFINISHED:
            self.trace.unfinished += count
        correlations = wire_format.running(message.get(8, 0), message.get(9), count)
        attributes = wire_format.column(message.get(11), count)
        graphs = wire_format.column(message.get(12), count)
        nodes = wire_format.running(0, message.get(13), count)
        durations = self._durations(message, attributes, count)
        for correlation, attribute, graph, node, duration in zip(correlations, attributes, graphs, nodes, durations):
            self.kernel_rows[attribute] += 1
            if graph != 0 or node != 0:
                self.trace.graph_kernels += 1
                self.trace.graph_time_ns[graph] += duration or 0
                self.graph_kernel_rows[(node, attribute)] += 1
            else:
                self.kernel_by_correlation[correlation] = (attribute, duration)

    @staticmethod
    def _durations(message, attributes, count):
        """In ns; None for each kernel where they are not known."""
        deltas = message.get(7)
        if message.get(2, 0) != TIMING_COMPLETE:
            return [None] * count
        if deltas and len(deltas) != count:
            raise DamagedTrace(f"delta column of {len(deltas)} values in a batch of {count}")
        last = collections.Counter()
        durations = []
        for attribute, delta in zip(attributes, deltas or [0] * count):
            last[attribute] += wire_format.unzigzag(delta)
            durations.append(last[attribute] * (message.get(6, 0) or 1))
        return durations

    def _memory(self, span):
        message = wire_format.message(self.data, span, repeated=(5, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18))
        count = message.get(1, 0)
        if message.get(2, 0) == MEMORY_FILL:
            self.trace.fills += count
            return
        for size, kind in zip(wire_format.column(message.get(11), count), wire_format.column(message.get(12), count)):
            self.trace.copies[(COPY_KINDS.get(kind, str(kind)), size)] += 1

    def _nvtx(self, span):
        message = wire_format.message(self.data, span, repeated=(4, 5, 6, 7, 8, 9))
        count = message.get(1, 0)
        times = wire_format.running(message.get(3, 0), message.get(4), count, signed=False, unit=message.get(10, 0) or 1)
        columns = [wire_format.column(message.get(number), count) for number in (5, 6, 7)]
        for time, kind, domain, name in zip(times, *columns):
            if kind in (1, 3):
                self.trace.nvtx_ranges += 1
            self.nvtx_events[message.get(2, 0)].append((time, kind, domain, name))

    def _resolve(self):
        trace = self.trace
        trace.launch_times = sorted(time for times in self.launch_times.values() for time in times)
        for attribute, count in self.kernel_rows.items():
            trace.kernels[self._record_shape(attribute)] += count
        for signature, count in self.launch_rows.items():
            if signature == 0:
                trace.unknown_launches += count
                continue
            shape = self._signature_shape(signature)
            trace.launches[shape] += count
            message = self.signatures[signature]
            trace.launch_flags[shape] = (message.get(14, 0), message.get(15, 0))
            if not message.get(16, 0):
                trace.eager_signatures += 1
                occupancy = message.get(21)
                trace.eager_signatures_with_occupancy += occupancy is not None and occupancy.get(1, 0) == 0
        trace.signature_shapes = {iid: self._signature_shape(iid) for iid in self.signatures}
        trace.function_names = {iid: self.names.get(m.get(2, 0), "?") for iid, m in self.functions.items()}
        counter_windows = {w.window_id for w in trace.counters.windows_of(counter_packets.WINDOW_COUNTERS)}
        for correlation, (signature, window) in self.launch_by_correlation.items():
            attribute, duration = self.kernel_by_correlation.get(correlation, (None, None))
            if duration is not None:
                trace.durations_ns[signature].append(duration)
            if window in counter_windows:
                trace.launches_in_counter_windows += 1
            elif attribute is None:
                trace.launches_without_kernel += 1
            elif signature != 0 and not self._agree(signature, attribute):
                trace.launches_differing += 1
        trace.kernels_without_launch = sum(
            correlation not in self.launch_by_correlation for correlation in self.kernel_by_correlation
        )
        for (node, attribute), count in self.graph_kernel_rows.items():
            signatures = self._node_signatures(node)
            if not signatures:
                trace.graph_kernels_unknown += count
            elif not any(self._agree(signature, attribute) for signature in signatures):
                trace.graph_kernels_differing += count
        self._resolve_ranges()

    def _node_signatures(self, node):
        for _ in range(16):
            message = self.nodes.get(node)
            if message is None:
                return set()
            signatures = message["signatures"] - {0}
            if signatures:
                # A clone that was changed later began with its original's parameters.
                original = self.nodes.get(message.get(2, 0))
                return signatures | ((original["signatures"] - {0}) if original else set())
            node = message.get(2, 0)
        return set()

    def _agree(self, signature, attribute):
        agree = self.agreements.get((signature, attribute))
        if agree is None:
            launch, record = self._signature_shape(signature), self._record_shape(attribute)
            agree = (launch.name, launch.grid, launch.block) == (record.name, record.grid, record.block)
            self.agreements[(signature, attribute)] = agree
        return agree

    def _record_shape(self, attribute):
        shape = self.record_shapes.get(attribute)
        if shape is None:
            shape = self.record_shapes[attribute] = self._make_record_shape(attribute)
        return shape

    def _make_record_shape(self, attribute):
        m = self.attributes.get(attribute, {})
        return Shape(
            name=self.names.get(m.get(2, 0), "?"),
            grid=(m.get(3, 0), m.get(4, 0), m.get(5, 0)),
            block=(m.get(6, 0), m.get(7, 0), m.get(8, 0)),
            cluster=(m.get(9, 0), m.get(10, 0), m.get(11, 0)),
            registers=m.get(12, 0),
            static_shared=m.get(13, 0),
            dynamic_shared=m.get(14, 0),
        )

    def _signature_shape(self, signature):
        shape = self.launch_shapes.get(signature)
        if shape is None:
            shape = self.launch_shapes[signature] = self._make_signature_shape(signature)
        return shape

    def _make_signature_shape(self, signature):
        m = self.signatures.get(signature, {})
        function = self.functions.get(m.get(2, 0), {})
        attributes = function.get(6, {})
        return Shape(
            name=self.names.get(function.get(2, 0), "?"),
            grid=(m.get(4, 0), m.get(5, 0), m.get(6, 0)),
            block=(m.get(7, 0), m.get(8, 0), m.get(9, 0)),
            cluster=(m.get(10, 0), m.get(11, 0), m.get(12, 0)),
            registers=attributes.get(2, 0),
            static_shared=attributes.get(3, 0),
            dynamic_shared=m.get(13, 0),
        )

    def _resolve_ranges(self):
        for thread, events in self.nvtx_events.items():
            # On the same step of the clock a push comes before a launch, a pop after it.
            marks = [(time, 2 if event[0] == 2 else 0, event) for time, *event in sorted(events, key=lambda event: event[0])]
            marks += [(time, 1, None) for time in self.launch_times.get(thread, [])]
            marks.sort(key=lambda mark: mark[:2])
            open_ranges = []
            for _, _, event in marks:
                if event is None:
                    if open_ranges:
                        domain, name = open_ranges[-1]
                        self.trace.kernels_by_range[(self.domains.get(domain, ""), self.names.get(name, ""))] += 1
                        path = tuple(self.names.get(name, "") for _, name in open_ranges)
                        self.trace.kernels_by_range_path[path] += 1
                elif event[0] == 1:
                    open_ranges.append((event[1], event[2]))
                elif event[0] == 2:
                    # A pop closes the innermost range of its own domain.
                    for i in range(len(open_ranges) - 1, -1, -1):
                        if open_ranges[i][0] == event[1]:
                            del open_ranges[i]
                            break
