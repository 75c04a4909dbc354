"""gpuexec against nothing, against the least that CUPTI does, and against the tools that people use: on one GPU, in one run.

  device.py --bin DIR --out DIR [--only launch,threads,torch,memory,size,first,counters,detach] [--rounds N] [--launches N]
            [--seconds N] [--sets core,lean] [--detach-seconds N]

Each part starts one process a tool, all of them at once, and then gives the word to one after another (A B C A B C ...): of
all processes only one works at any time, so that what drifts on the machine drifts for all. Figures are of the process's own
clock around its loop; ratios are of a turn to the turn without any tool in the same round, their median and range are
printed. samples.tsv has every turn.

  launch   empty kernels of a C++ program: nothing, the floor (activity_floor.cc), gpuexec, ncu attached with nothing selected
  threads  the same from 16 threads at once
  torch    PyTorch: small additions, and whole programs (eager decode, its CUDA graph, prefill, training)
  memory   host and device memory over ten million launches
  size     bytes per kernel of each tool's file, of the same steps
  first    time to the first kernel, and from the last one to the end of the process
  counters seconds that counters add to an eager decode loop, by set and by replay, against ncu (tests/gpu/check_cost.py)
  detach   whether a program of 64 threads lives through a library that detaches from CUPTI and attaches again

--bin holds gx-launch-worker, libgx_activity_floor.so and libgpuexec_inject.so, side by side or as a build folder does.
Exit code: 0, 1 if a bar is missed or a process failed, 2 wrong usage.
"""

import argparse
import glob
import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "gpu"))

import rows as rows_module  # noqa: E402

PARTS = ("launch", "threads", "torch", "memory", "size", "first", "counters", "detach")
START_LIMIT_S = 120
TURN_LIMIT_S = 100
THREADS = 16
LAUNCH_TURNS = 10


class Tools:
    """What each mode sets in the environment, and what it puts before the command."""

    def __init__(self, arguments, scratch):
        self.scratch = scratch
        self.inject = find(arguments.bin, "libgpuexec_inject.so")
        self.floor = find(arguments.bin, "libgx_activity_floor.so")
        self.worker = find(arguments.bin, "gx-launch-worker")
        # One for all: of the toolkit, for programs that bring none.
        self.cupti = next(iter(sorted(glob.glob("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.13") +
                                      glob.glob("/usr/local/cuda*/targets/*/lib/libcupti.so.13"))), "")
        if not self.cupti:
            print("device.py: no libcupti.so.13 under /usr/local/cuda*", file=sys.stderr)
            sys.exit(2)
        self.ncu = shutil.which("ncu") or next(iter(sorted(glob.glob("/usr/local/cuda*/bin/ncu"))), "")

    def environment(self, mode, name, torch):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("GPUEXEC_", "GX_FLOOR")) and key != "CUDA_INJECTION64_PATH"}
        if mode.startswith("floor"):
            # "floor", "floor both", "floor both ALSO=4,38 CLOCK=1": see activity_floor.cc.
            words = mode.split()[1:]
            kind = [word for word in words if "=" not in word]
            kept |= {"CUDA_INJECTION64_PATH": self.floor, "GX_FLOOR": kind[0] if kind else "activity"}
            kept |= dict(("GX_FLOOR_" + word).split("=") for word in words if "=" in word)
            if not torch:
                kept["GX_FLOOR_CUPTI"] = self.cupti
            kept["GX_FLOOR_REQUIRED"] = "1"
        elif mode.startswith("gpuexec"):
            words = [word for word in mode.split() if "=" in word]
            mode = " ".join(word for word in mode.split() if "=" not in word)
            settings = {"gpuexec timing": {"GPUEXEC_COUNTERS": "off"},
                        "gpuexec launches": {"GPUEXEC_COUNTERS": "off", "GPUEXEC_TIMING": "off"},
                        "gpuexec api": {"GPUEXEC_COUNTERS": "off", "GPUEXEC_API": "on"},
                        "gpuexec core": {}}[mode]
            settings |= dict(("GPUEXEC_" + word).split("=") for word in words)
            kept |= {"CUDA_INJECTION64_PATH": self.inject, "GPUEXEC_LOG": os.path.join(self.scratch, f"{name}.log"),
                     "GPUEXEC_OUTPUT": os.path.join(self.scratch, f"{name}.pb")} | settings
            if not torch:
                kept["GPUEXEC_CUPTI"] = self.cupti
        return kept

    def prefix(self, mode):
        return [self.ncu, "--clock-control", "none", "--kernel-name", "no_such_kernel"] if mode == "ncu" else []


def find(folder, name):
    for part in (".", "inject", "tests/bench", "tests/gpu", "tools", "lib"):
        path = os.path.join(folder, part, name)
        if os.path.isfile(path):
            return os.path.abspath(path)
    print(f"device.py: no {name} in {folder}", file=sys.stderr)
    sys.exit(2)


class Worker:
    """A process that answers one line to each line that it is told."""

    def __init__(self, tools, part, mode, command, torch=False):
        self.mode = mode
        self.name = f"{part}_{mode.replace(' ', '_').replace('=', '_')}"
        base = os.path.join(tools.scratch, self.name)
        for end in ("commands", "answers"):
            os.mkfifo(f"{base}.{end}")
        self.trace = f"{base}.pb"
        self.errors = open(f"{base}.err", "wb")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [*tools.prefix(mode), *command, f"{base}.commands", f"{base}.answers", *([mode] if torch else [])],
            env=tools.environment(mode, self.name, torch), stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        # Neither side may wait for ever for the other: opened for both directions, which never blocks.
        self.commands = os.open(f"{base}.commands", os.O_RDWR)
        self.answers = os.open(f"{base}.answers", os.O_RDWR)
        self.rest = b""

    def ask(self, line, limit_s=TURN_LIMIT_S):
        os.write(self.commands, line.encode() + b"\n")
        end = time.monotonic() + limit_s
        while b"\n" not in self.rest:
            readable, _, _ = select.select([self.answers], [], [], 0.5)
            if readable:
                self.rest += os.read(self.answers, 4096)
            elif self.process.poll() is not None:
                raise ChildProcessError(f"{self.name}: ended with {self.process.returncode}: {self.said()}")
            elif time.monotonic() > end:
                raise TimeoutError(f"{self.name}: no answer to '{line}' within {limit_s} s: {self.said()}")
        answer, _, self.rest = self.rest.partition(b"\n")
        return answer.decode().split()

    def said(self):
        with open(self.errors.name, "rb") as file:
            return file.read()[-300:].decode(errors="replace").replace("\n", " | ")

    def end(self):
        if self.process.poll() is None:
            os.write(self.commands, b"quit\n")
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for descriptor in (self.commands, self.answers):
            os.close(descriptor)
        self.errors.close()
        return self.process.returncode


class Samples:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")  # pylint: disable=consider-using-with
        print("part", "round", "mode", "command", "count", "calls_ns", "all_ns", sep="\t", file=self.file)
        self.values = {}

    def add(self, part, number, mode, command, count, answer):
        print(part, number, mode, command, count, *answer, sep="\t", file=self.file, flush=True)
        self.values.setdefault((part, command, mode), {})[number] = [int(value) / count for value in answer]

    def per_unit(self, part, command, mode, which=1):
        """{round: ns of one launch or step}; the wait for the device is in it unless `which` is 0."""
        return {number: pair[which] for number, pair in self.values.get((part, command, mode), {}).items()}


def spread(values, digits=3):
    values = list(values)
    if not values:
        return "none"
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def started(part, tools, modes, command, torch, rows):
    """Workers that have answered, {mode: Worker}."""
    workers, ready = {}, {}
    for mode in modes:
        workers[mode] = Worker(tools, part, mode, command, torch)
    for mode, worker in workers.items():
        try:
            worker.ask("ready", START_LIMIT_S)
            ready[mode] = worker
        except (OSError, TimeoutError) as error:
            rows.add(f"{part}: {mode}", "starts", str(error), False)
            worker.end()
    return ready


def turns(part, workers, plan, rounds, samples, rows, until):
    """Every command of `plan` ({command: count}) in turn, `rounds` times; the modes interleaved."""
    for number in range(rounds + 1):
        if time.monotonic() > until:
            break
        for command, count in plan.items():
            for mode in list(workers):
                try:
                    answer = workers[mode].ask(f"{command} {count}")
                except (OSError, TimeoutError) as error:
                    rows.add(f"{part}: {mode}, {command}", "answers", str(error), False)
                    workers.pop(mode).end()
                    continue
                # Round 0 is for everybody's first time.
                if number > 0:
                    samples.add(part, number, mode, command, count, answer)


def finish(part, workers, rows):
    for mode, worker in workers.items():
        code = worker.end()
        if code != 0:
            rows.add(f"{part}: {mode}", "ends with 0", code, False)
        if mode.startswith("gpuexec") and not glob.glob(worker.trace[:-3] + "*.pb"):
            rows.add(f"{part}: {mode}", "a trace", f"none: {worker.said()}", False)
        for path in glob.glob(worker.trace[:-3] + "*.pb"):
            os.remove(path)


def added(samples, part, command, mode, which=1):
    """{round: ns that a mode adds}."""
    bare = samples.per_unit(part, command, "none", which)
    return {number: value - bare[number]
            for number, value in samples.per_unit(part, command, mode, which).items() if number in bare}


def ratios(over, under):
    return [over[number] / under[number] for number in over if under.get(number)]


def launch_rows(part, command, samples, modes, rows, unit="launch"):
    for which, label in ((1, "with the wait"), (0, "calls alone")):
        for mode in modes:
            values = samples.per_unit(part, command, mode, which)
            if not values:
                continue
            rows.add(f"{part}: us per {unit}, {label}, {mode}", "-", spread([v / 1e3 for v in values.values()]), True)
            if mode != "none":
                rows.add(f"{part}: us added per {unit}, {label}, {mode}", "-",
                         spread([v / 1e3 for v in added(samples, part, command, mode, which).values()]), True)


def bar(rows, label, wanted, values, holds, digits=3):
    values = list(values)
    rows.add(label, wanted, spread(values, digits), bool(values) and holds(statistics.median(values)))


def part_launch(tools, arguments, samples, rows, until):
    modes = ["none", "floor", "floor both", "floor callbacks", "gpuexec launches", "gpuexec timing", "gpuexec core"]
    if arguments.modes:
        modes = ["none", "floor", *arguments.modes.split(";")]
    if arguments.api:
        modes.append("gpuexec api")
    if tools.ncu and not arguments.no_ncu:
        modes.append("ncu")
    workers = started("launch", tools, modes, [tools.worker], False, rows)
    # Short turns, and many: slow spells of the machine are longer than one and fall on all alike.
    turns("launch", workers, {"launch": arguments.launches // LAUNCH_TURNS}, max(LAUNCH_TURNS, 6 * arguments.rounds), samples, rows,
          until)
    turns("launch", workers, {"graph": 100}, arguments.rounds, samples, rows, until)
    finish("launch", workers, rows)
    launch_rows("launch", "launch", samples, modes, rows)
    launch_rows("launch", "graph", samples, modes, rows, "replay of 600 nodes")
    floor = added(samples, "launch", "launch", "floor")
    bar(rows, "launch: added by gpuexec timing, of what the floor adds", "<= 1.10",
        ratios(added(samples, "launch", "launch", "gpuexec timing"), floor), lambda value: value <= 1.10)
    bar(rows, "launch: of a replay, gpuexec timing against the floor", "<= 1.01",
        ratios(samples.per_unit("launch", "graph", "gpuexec timing"), samples.per_unit("launch", "graph", "floor")),
        lambda value: value <= 1.01)


def part_threads(tools, arguments, samples, rows, until):
    modes = ["none", "floor", "floor both", "floor TOGGLE_MS=1000", "gpuexec launches", "gpuexec timing", "gpuexec core"]
    workers = started("threads", tools, modes, [tools.worker], False, rows)
    turns("threads", workers, {f"threads {THREADS}": 20000}, arguments.rounds, samples, rows, until)
    finish("threads", workers, rows)
    for mode in modes:
        values = samples.per_unit("threads", f"threads {THREADS}", mode)
        rows.add(f"threads: thousand launches a second, {THREADS} threads, {mode}", "-",
                 spread([THREADS * 1e6 / value for value in values.values()], 0), True)


def part_torch(tools, arguments, samples, rows, until):
    profilers = ["torch_cuda", "torch_both", "proton"]
    modes = ["none", "floor", "gpuexec timing", "gpuexec core"] + (["gpuexec api"] if arguments.api else []) + profilers
    command = [sys.executable, os.path.join(HERE, "torch_worker.py")]
    workers = started("torch", tools, modes, command, True, rows)
    plan = {"add": arguments.launches // 4, "decode": 40, "graph": 100, "prefill": 30, "train": 20}
    turns("torch", workers, plan, arguments.rounds, samples, rows, until)
    finish("torch", workers, rows)
    launch_rows("torch", "add", samples, modes, rows, "addition")
    ours = added(samples, "torch", "add", "gpuexec timing")
    bar(rows, "torch: added to an addition, PyTorch's profiler CPU + CUDA over gpuexec timing", ">= 1.5",
        ratios(added(samples, "torch", "add", "torch_both"), ours), lambda value: value >= 1.5)
    for tool in ("torch_cuda", "proton"):
        bar(rows, f"torch: added to an addition, gpuexec timing over {tool}", "<= 1.05",
            ratios(ours, added(samples, "torch", "add", tool)), lambda value: value <= 1.05)
    for program in ("decode", "graph", "prefill", "train"):
        bare = samples.per_unit("torch", program, "none")
        rows.add(f"torch: {program}, ms a step, none", "-", spread([value / 1e6 for value in bare.values()]), True)
        for mode in modes[1:]:
            rows.add(f"torch: {program}, {mode} over none", "-",
                     spread(ratios(samples.per_unit("torch", program, mode), bare), 4), True)
        to_floor = ratios(samples.per_unit("torch", program, "gpuexec timing"), samples.per_unit("torch", program, "floor"))
        if program in ("graph", "prefill"):
            bar(rows, f"torch: {program}, gpuexec timing over the floor", "<= 1.01", to_floor, lambda value: value <= 1.01, 4)
        else:
            rows.add(f"torch: {program}, gpuexec timing over the floor", "-", spread(to_floor, 4), True)


def part_memory(tools, arguments, samples, rows, until):
    """One mode after the other: nothing is timed here."""
    modes = ["none", "gpuexec timing", "gpuexec core"] + (["gpuexec api"] if arguments.api else [])
    workers = started("memory", tools, modes, [tools.worker], False, rows)
    for mode in list(workers):
        values = []
        try:
            for million in range(arguments.millions + 1):
                if million and time.monotonic() < until:
                    workers[mode].ask("launch 1000000")
                elif million:
                    break
                resident_kib, device_bytes = map(int, workers[mode].ask("memory"))
                samples.add("memory", million, mode, "memory", 1, (resident_kib * 1024, device_bytes))
                values.append((resident_kib / 1024, device_bytes / 2**20))
        except (OSError, TimeoutError) as error:
            rows.add(f"memory: {mode}", "answers", str(error), False)
        if len(values) < 3:
            continue
        after_first, last = values[1], values[-1]
        label = f"memory: {mode}, {len(values) - 1} million launches"
        rows.add(f"{label}: host MiB, before; after the first million; at the end", "-",
                 f"{values[0][0]:.1f}; {after_first[0]:.1f}; {last[0]:.1f}", True)
        rows.add(f"{label}: growth after the first million, MiB of host memory", "< 8", f"{last[0] - after_first[0]:.1f}",
                 last[0] - after_first[0] < 8)
        rows.add(f"{label}: growth after the first million, MiB of device memory", "< 8", f"{last[1] - after_first[1]:.1f}",
                 last[1] - after_first[1] < 8)
    finish("memory", workers, rows)


def kernels_of(path):
    """Kernels with times in a trace of gpuexec."""
    import trace_file

    return sum(trace_file.read(path).kernels.values())


def part_size(tools, arguments, samples, rows, until):
    del arguments, until
    command = [sys.executable, os.path.join(HERE, "torch_worker.py")]
    modes = ["none", "gpuexec timing", "torch_cuda", "torch_both", "proton", "proton_trace"]
    workers = started("size", tools, modes, command, True, rows)
    steps = 50
    per_kernel = {}
    # As many kernels in each of them, by PyTorch's count; gpuexec's trace also has what came before and is divided by its own.
    kernels = 0
    for mode in ("torch_cuda", "torch_both", "proton", "proton_trace"):
        if mode not in workers:
            continue
        try:
            answer = [int(word) for word in workers[mode].ask(f"size {tools.scratch}/{mode}.json decode {steps}")]
        except (OSError, TimeoutError, ValueError) as error:
            rows.add(f"size: {mode}", "answers", str(error), False)
            continue
        kernels = kernels or answer[0]
        per_kernel[mode] = answer[1] / kernels if kernels else 0
        rows.add(f"size: {mode}, eager decode, bytes a kernel (kernels)", "-", f"{per_kernel[mode]:.1f} ({kernels})", True)
        if len(answer) > 2:
            rows.add(f"size: {mode}, compressed by gzip", "-", f"{answer[2] / kernels:.1f}", True)
    ours = workers.get("gpuexec timing")
    if ours:
        ours.ask("decode 1000")
        ours.end()
        paths = glob.glob(ours.trace[:-3] + "*.pb")
        size = sum(os.path.getsize(path) for path in paths)
        count = kernels_of(paths[0]) if paths else 0
        bytes_each = size / count if count else 0
        rows.add("size: gpuexec timing, eager decode, bytes a kernel (kernels)", "<= 12", f"{bytes_each:.2f} ({count})",
                 0 < bytes_each <= 12)
        for mode in ("torch_cuda", "torch_both"):
            if bytes_each and mode in per_kernel:
                ratio = per_kernel[mode] / bytes_each
                rows.add(f"size: {mode}, plain JSON over gpuexec", ">= 30", f"{ratio:.1f}", ratio >= 30)
        samples.add("size", 1, "gpuexec timing", "size", 1, (count, size))
        workers.pop("gpuexec timing")
        for path in paths:
            os.remove(path)
    finish("size", workers, rows)


def part_first(tools, arguments, samples, rows, until):
    modes = ["none", "floor", "gpuexec timing", "gpuexec core"]
    for number in range(arguments.rounds + 1):
        if time.monotonic() > until:
            break
        for mode in modes:
            name = f"first_{mode.replace(' ', '_')}"
            begin = time.monotonic_ns()
            done = subprocess.run([tools.worker, "--once", "1000"], env=tools.environment(mode, name, False), timeout=60,
                                  capture_output=True, text=True, check=False)
            end = time.monotonic_ns()
            said = dict(line.split() for line in done.stdout.splitlines())
            if done.returncode != 0 or "last" not in said:
                rows.add(f"first: {mode}", "exit code 0", f"{done.returncode}: {done.stderr[-200:]}", False)
                continue
            if number > 0:
                samples.add("first", number, mode, "once", 1, (int(said["first"]) - begin, end - int(said["last"])))
            for path in glob.glob(os.path.join(tools.scratch, f"{name}*.pb")):
                os.remove(path)
    for which, label in ((0, "ms to the first kernel"), (1, "ms from the last kernel to the end")):
        for mode in modes:
            values = samples.per_unit("first", "once", mode, which).values()
            rows.add(f"first: {label}, {mode}", "-", spread([value / 1e6 for value in values], 1), True)
            if mode != "none":
                rows.add(f"first: {label}, added by {mode}", "-",
                         spread([value / 1e6 for value in added(samples, "first", "once", mode, which).values()], 1), True)


def part_counters(tools, arguments, samples, rows, until):
    del samples
    for counter_set in arguments.sets.split(","):
        left = until - time.monotonic()
        if left < 60:
            rows.add(f"counters: {counter_set}", "measured", f"left out: {left:.0f} s left", False)
            continue
        table = os.path.join(tools.scratch, f"cost_{counter_set}.rows")
        scratch = os.path.join(tools.scratch, f"cost_{counter_set}")
        os.makedirs(scratch)
        command = [sys.executable, os.path.join(HERE, os.pardir, "gpu", "check_cost.py"), "--inject", tools.inject, "--set",
                   counter_set, "--replay", "--scratch", scratch, "--long-steps", "0", "--pairs", str(arguments.pairs),
                   "--samples", os.path.join(arguments.out, f"cost_{counter_set}.tsv"), "--label", f"counters: {counter_set}",
                   "--seconds", str(int(left - 30)), "--rows", table]
        done = subprocess.run(command, capture_output=True, text=True, timeout=left + 60, check=False)
        if not os.path.exists(table):
            rows.add(f"counters: {counter_set}", "a table", f"exit code {done.returncode}: {done.stderr[-300:]}", False)
            continue
        with open(table, encoding="utf-8") as lines:
            for line in lines:
                what, wanted, got, ok = line.rstrip("\n").split("\t")[:4]
                rows.add(what, wanted, got, ok == "ok")


def part_detach(tools, arguments, samples, rows, until):
    """cuptiFinalize under load, and attaching again: what a mode would rest on that leaves no cost between its windows."""
    del samples
    seconds = int(min(arguments.detach_seconds, until - time.monotonic() - 60))
    if seconds < 10:
        rows.add("detach", "tried", f"left out: {seconds} s left", False)
        return
    environment = tools.environment("floor DUTY_MS=200,200", "detach", False)
    try:
        done = subprocess.run([tools.worker, "--storm", "64", str(seconds)], env=environment, timeout=seconds + 50,
                              capture_output=True, text=True, check=False)
        said = done.stderr.split()
        cycles = int(said[said.index("duty") + 1]) if "duty" in said else -1
        rows.add(f"detach: 64 threads, streams, graphs, {seconds} s: exit code; times detached", "0; > 1",
                 f"{done.returncode}; {cycles} {done.stderr[-200:] if done.returncode else ''}".replace("\n", " "),
                 done.returncode == 0 and cycles > 1)
        rows.add("detach: launches, of which recorded", "-", f"{done.stdout.strip()}; {done.stderr.strip()[-200:]}", True)
    except subprocess.TimeoutExpired as error:
        rows.add(f"detach: 64 threads, streams, graphs, {seconds} s", "ends", f"hangs: {(error.stderr or b'')[-200:]!r}", False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--launches", type=int, default=200_000)
    parser.add_argument("--millions", type=int, default=10, help="of launches, for the memory part")
    parser.add_argument("--seconds", type=float, default=560, help="no round is begun after that")
    parser.add_argument("--modes", help="of part launch: others, as 'floor both CLOCK=1;gpuexec timing NVML=off'")
    parser.add_argument("--no-ncu", action="store_true", help="ncu takes twenty times as long as all others together")
    parser.add_argument("--sets", default="core,lean", help="of counters, for that part")
    parser.add_argument("--pairs", type=int, default=3, help="for the part counters")
    parser.add_argument("--detach-seconds", type=int, default=60)
    parser.add_argument("--api", action="store_true", help="also gpuexec with API records")
    arguments = parser.parse_args()
    parts = arguments.only.split(",")
    if not set(parts) <= set(PARTS):
        parser.error(f"--only wants some of {','.join(PARTS)}")
    until = time.monotonic() + arguments.seconds
    os.makedirs(arguments.out, exist_ok=True)
    rows = rows_module.Rows(os.path.join(arguments.out, "rows.tsv"))
    samples = Samples(os.path.join(arguments.out, "samples.tsv"))
    with tempfile.TemporaryDirectory() as scratch:
        tools = Tools(arguments, scratch)
        for part in PARTS:
            if part in parts:
                began = time.monotonic()
                globals()[f"part_{part}"](tools, arguments, samples, rows, until)
                print(f"{part}: {time.monotonic() - began:.0f} s", file=sys.stderr)
        for path in glob.glob(os.path.join(scratch, "*.log")):
            if os.path.getsize(path) < 20_000:
                shutil.copy(path, arguments.out)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
