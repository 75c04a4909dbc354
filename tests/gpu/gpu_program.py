"""What the PyTorch programs of this folder share: options, phases, and counting with PyTorch's own profiler.

A program is a list of phases, functions called in order, that together hold every CUDA operation of the process. A
plain run just calls them. With --count-with-torch-profiler FILE each phase runs under a profiler session of its own
(one session for a whole program would run into the profiler's buffer limit), and FILE receives, as JSON, how many
kernels there were: in all, by name, and by name with grid and block. Copies and fills are not kernels.

Standard output holds rounded checksums only: no times and no counts, so that two runs can be compared byte for byte. With
--hash it also holds a hash of every byte of the results. With --step-times FILE, FILE receives a line `step BEGIN END` for
each step, nanoseconds of CLOCK_MONOTONIC on the host.
"""

import argparse
import collections
import contextlib
import hashlib
import json
import os
import sys
import tempfile
import time

# Same results on every run; must be set before cuBLAS is initialised.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def parse_arguments(description, default_steps, add_options=None):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=default_steps, metavar="N", help="steps (default %(default)s)")
    parser.add_argument(
        "--count-with-torch-profiler",
        metavar="FILE",
        help="run under PyTorch's profiler and write its kernel counts to FILE as JSON",
    )
    parser.add_argument("--hash", action="store_true", help="print a hash of every byte of the results")
    parser.add_argument("--step-times", metavar="FILE", help="write when each step began and ended")
    if add_options:
        add_options(parser)
    arguments = parser.parse_args()
    if arguments.steps < 1:
        parser.error("--steps must be at least 1")
    return arguments


def chunks(steps, size):
    """[size, size, ..., rest] with the sum `steps`."""
    whole = [size] * (steps // size)
    return whole + ([steps % size] if steps % size else [])


class StepTimes:
    """Times steps as the host sees them; writes them when the program ends."""

    def __init__(self, path):
        self._path = path
        self._steps = []

    @contextlib.contextmanager
    def step(self, kind="step"):
        begin = time.monotonic_ns()
        yield
        self._steps.append((kind, begin, time.monotonic_ns()))

    def write(self):
        if self._path:
            with open(self._path, "w", encoding="utf-8") as file:
                for step in self._steps:
                    print(*step, file=file)


def read_step_times(path, kind="step"):
    """[(begin, end)] of the steps of one kind, ns."""
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return [(int(begin), int(end)) for name, begin, end in rows if name == kind]


def print_hash(label, tensors):
    """SHA-256 over the bytes of the tensors, one after another."""
    import torch

    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().contiguous().view(torch.uint8).cpu().numpy().tobytes())
    print(f"{label}: sha256 {digest.hexdigest()}")


def run_phases(phases, count_file):
    import torch

    if not torch.cuda.is_available():
        sys.exit("no CUDA device answers")
    # With deterministic algorithms PyTorch would also fill every new tensor: kernels that a usual program does not have.
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.cuda.init()
    if not count_file:
        for phase in phases:
            phase()
            torch.cuda.synchronize()
        return
    counts = _Counts()
    for phase in phases:
        _run_profiled(torch, phase, counts)
    with open(count_file, "w", encoding="utf-8") as file:
        json.dump(counts.as_json(torch), file, indent=1)


class _Counts:
    def __init__(self):
        self.by_name = collections.Counter()
        self.by_shape = collections.Counter()
        self.other = collections.Counter()

    def add_trace(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            trace = json.load(file)
        for event in trace["traceEvents"] if isinstance(trace, dict) else trace:
            category = event.get("cat")
            if category == "kernel":
                name = event["name"]
                arguments = event.get("args", {})
                self.by_name[name] += 1
                grid = ",".join(str(v) for v in arguments.get("grid", []))
                block = ",".join(str(v) for v in arguments.get("block", []))
                self.by_shape[(name, grid, block, arguments.get("registers per thread", -1))] += 1
            elif category in ("gpu_memcpy", "gpu_memset"):
                self.other[category] += 1

    def as_json(self, torch):
        return {
            "torch": torch.__version__,
            "kernels": sum(self.by_name.values()),
            "copies": self.other["gpu_memcpy"],
            "fills": self.other["gpu_memset"],
            "by_name": dict(sorted(self.by_name.items())),
            "by_shape": [
                {"name": name, "grid": grid, "block": block, "registers": registers, "kernels": count}
                for (name, grid, block, registers), count in sorted(self.by_shape.items())
            ],
        }


def _run_profiled(torch, phase, counts):
    # The profiler drops events that seem to lie outside its session: leave room at both ends.
    room_seconds = 0.02
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        time.sleep(room_seconds)
        phase()
        torch.cuda.synchronize()
        time.sleep(room_seconds)
    descriptor, path = tempfile.mkstemp(suffix=".json")
    os.close(descriptor)
    try:
        profiler.export_chrome_trace(path)
        counts.add_trace(path)
    finally:
        os.unlink(path)
