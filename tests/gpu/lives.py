"""The scenarios of gx-host-lives: how each ends, how its trace ends, and what it may lose; runs them, and reads what they leave."""

import dataclasses
import glob
import os
import resource
import signal
import subprocess
import time

# Every scenario ends by itself long before.
LIMIT_S = 60
BARE = "bare"
# Of "timing" every launch has times. Without a budget counters are at work early.
TIERS = {"timing": {"GPUEXEC_COUNTERS": "off"}, "core": {"GPUEXEC_COUNTERS": "core", "GPUEXEC_BUDGET": "off"}}
# Descriptors from here on may be those of tools: see inject/descriptor.h.
TOOL_DESCRIPTORS = 200
# What drivers and CUPTI open for themselves, at numbers of their own.
MACHINERY = ("/dev/nvidia", "anon_inode", "socket", "pipe", "/memfd", "/dev/shm", "/proc/")


@dataclasses.dataclass(frozen=True)
class Life:
    end: str = "exit code 0"
    # Of the trace: "exit" or "disabled", its trailer's reason; "" no trailer, as nothing of ours runs at the end; None: no trace.
    trace_end: str | None = "exit"
    # Counters of losses and faults that the scenario itself may bring about.
    may_lose: tuple = ()
    # The device has a fault: CUPTI may lose any record, and the trace has to show it.
    faulty: bool = False
    # Nothing is recorded.
    records_nothing: bool = False
    # Another client: when its gap ends, "never" or "given_back"; "" there is none.
    gap_ends: str = ""
    tiers: tuple = tuple(TIERS)


# What a CUPTI whose device has failed may refuse.
FAULTS = ("STAT_CUPTI_ERRORS", "STAT_FINAL_FLUSH_TIMED_OUT", "STAT_RECORDS_DROPPED_BY_CUPTI", "STAT_KERNELS_UNTIMED",
          "STAT_KERNELS_INVALID_TIME", "STAT_COUNTER_SESSIONS_FAILED", "STAT_COUNTER_RANGES_LOST")
LIVES = {
    "plain": Life(),
    "illegal_access": Life(faulty=True, may_lose=FAULTS),
    "illegal_access_at_end": Life(faulty=True, may_lose=FAULTS),
    # Counters need memory of the device, too.
    "out_of_memory": Life(may_lose=("STAT_COUNTER_SESSIONS_FAILED",)),
    "refused_launches": Life(),
    "exit_while_running": Life(),
    "underscore_exit_while_running": Life("exit code 5", ""),
    "exit_while_running_for_ever": Life(may_lose=("STAT_FINAL_FLUSH_TIMED_OUT",)),
    "abort": Life("SIGABRT", ""),
    "sigterm": Life("SIGTERM", ""),
    "exception": Life("SIGABRT", ""),
    "sigterm_handled": Life(),
    "threads64": Life(),
    "fork_exec": Life(),
    "spawn": Life(),
    "fork_idle_child": Life(),
    # A session goes with its context, and with it what it had counted.
    "reset_and_reuse": Life(may_lose=("STAT_COUNTER_RANGES_LOST",)),
    "streams_events_graph": Life(),
    "no_cuda": Life(trace_end=None),
    "another_subscriber_first": Life(trace_end="disabled", records_nothing=True, may_lose=("STAT_SUBSCRIBE_REFUSED",)),
    # Counter windows switch records on again: with counters a gap may end by itself, so that one such scenario is enough.
    "client_takes_buffers": Life(gap_ends="never"),
    "client_switches_records_off": Life(gap_ends="never", tiers=("timing",)),
    "client_gives_back": Life(gap_ends="given_back", tiers=("timing",)),
    "client_at_the_end": Life(gap_ends="never", tiers=("timing",)),
}


class State:
    """A state file, read."""

    def __init__(self, text=""):
        self.lines = text.split("\n")

    def _words(self):
        return [line.split(" ") for line in self.lines]

    def number(self, key):
        """N of the last line `KEY N`; None where there is none."""
        found = [words[1] for words in self._words() if len(words) == 2 and words[0] == key and words[1].isdigit()]
        return int(found[-1]) if found else None

    def marks(self):
        """[(time, launches so far)]"""
        return [(int(words[1]), int(words[2])) for words in self._words() if words[0] == "mark"]

    def time_of(self, key):
        """Of the mark behind a line `KEY`."""
        for line, after in zip(self.lines, self.lines[1:]):
            if line == key and after.startswith("mark "):
                return int(after.split(" ")[1])
        return None

    def process(self):
        """What has to be the same: lines of folder, signals, limits, variables."""
        keys = ("folder", "umask", "rounding", "handled", "blocked", "alternate_stack", "limit", "variable")
        return [line for line in self.lines if line.split(" ")[0] in keys]

    def descriptors(self):
        """[(number, whether inherited, target)]"""
        found = [line.split(" ", 3) for line in self.lines if line.startswith("file ")]
        return [(int(words[1]), words[2] == "inherited", words[3]) for words in found if len(words) == 4]

    def files(self):
        """What has to be the same of them: standard files, then others by path; what belongs to drivers and tools is left out."""
        standard, others = [], []
        for number, inherited, target in self.descriptors():
            if number <= 2:
                # Pipes and sockets by kind alone.
                standard.append(f"{number} {target.split(':[')[0]}")
            elif not target.startswith(MACHINERY) and (number < TOOL_DESCRIPTORS or inherited):
                others.append(f"{'inherited' if inherited else 'own'} {target}")
        return standard + sorted(others)


@dataclasses.dataclass
class Outcome:
    """What one run left."""

    out: bytes
    err: bytes
    end: str
    seconds: float
    state: State

    def said(self, key):
        """The numbers N of the lines `KEY N` on standard output."""
        prefix = key + " "
        lines = self.out.decode("utf-8", "replace").splitlines()
        return [int(line[len(prefix):]) for line in lines if line.startswith(prefix) and line[len(prefix):].isdigit()]

    def said_once(self, key):
        """The last of them: children speak first. 0 where there is none."""
        return (self.said(key) or [0])[-1]

    @property
    def skipped(self):
        return self.out.startswith(b"SKIP")


def end_of(return_code):
    """Of subprocess: negative for a signal."""
    if return_code >= 0:
        return f"exit code {return_code}"
    try:
        return signal.Signals(-return_code).name
    except ValueError:
        return f"signal {-return_code}"


class Runner:
    def __init__(self, program, inject, scratch):
        self.program, self.inject = os.path.abspath(program), os.path.abspath(inject)
        self.scratch = os.path.abspath(scratch)
        self.traces = os.path.join(self.scratch, "traces")
        # The same folder and the same name of the state file in every run: both are part of the state.
        self.folder = os.path.join(self.scratch, "folder")
        for folder in (self.traces, self.folder):
            os.makedirs(folder, exist_ok=True)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("GPUEXEC_") and not name.endswith("_INJECTION64_PATH")}

    def trace_paths(self, name, tier):
        return sorted(glob.glob(os.path.join(glob.escape(self.traces), f"{name}.{tier}.*.pb")))

    def _environment(self, name, tier):
        if tier == BARE:
            return self.environment
        ours = {"CUDA_INJECTION64_PATH": self.inject, "GPUEXEC_OUTPUT": os.path.join(self.traces, f"{name}.{tier}.%p.pb")}
        return {**self.environment, **ours, **TIERS[tier]}

    def run(self, name, tier):
        state_path = os.path.join(self.folder, "state")
        for left_over in [state_path, *self.trace_paths(name, tier)]:
            if os.path.exists(left_over):
                os.remove(left_over)
        begin = time.monotonic()
        # A group of its own, so that what does not end goes with its children. No core files.
        process = subprocess.Popen([self.program, name, "state"], cwd=self.folder, env=self._environment(name, tier),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        try:
            out, err = process.communicate(timeout=LIMIT_S)
            end = end_of(process.returncode)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            end = f"none in {LIMIT_S} s"
        state = ""
        if os.path.exists(state_path):
            with open(state_path, encoding="utf-8", errors="replace") as file:
                state = file.read()
        outcome = Outcome(out, err, end, time.monotonic() - begin, State(state))
        for suffix, data in (("out", out), ("err", err), ("state", state.encode("utf-8", "replace"))):
            with open(os.path.join(self.scratch, f"{name}.{tier}.{suffix}"), "wb") as file:
                file.write(data)
        return outcome
