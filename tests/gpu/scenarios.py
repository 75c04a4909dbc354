"""Programs that end oddly, start other processes, or are recorded in part: one scenario a run, with PyTorch.

  scenarios.py region|span|kill|exit_at_once|nvtx|loader|spawned_loader|killed_worker|children|child|profiler|memory_limit|streams|broken

Standard output is the same in every run. `launches N` there is how many kernels the process launches in all; what else
a scenario promises is another line of the same kind, which check_scenarios.py reads. Counts that depend on the time go
to stderr: `mark NANOSECONDS N`, N launches so far at that time of CLOCK_MONOTONIC.
"""

import os
import signal
import subprocess
import sys
import time

import torch

MARK_EVERY_S = 0.1


class Launches:
    """Launches small kernels, one a call of add, and counts them."""

    def __init__(self):
        # One kernel: the fill.
        self._values = torch.ones(1024, device="cuda")
        self.count = 1
        self._next_mark = 0.0

    def make(self, count):
        for _ in range(count):
            self._values = self._values.add(1)
        self.count += count

    def finish(self):
        torch.cuda.synchronize()

    def mark(self, now=False):
        """Says how many there are, every 0.1 s or at once."""
        if now or time.monotonic() >= self._next_mark:
            self._next_mark = time.monotonic() + MARK_EVERY_S
            print("mark", time.monotonic_ns(), self.count, file=sys.stderr, flush=True)


def region():
    """150 launches inside two pairs of cudaProfilerStart and Stop, 121 outside."""
    launches = Launches()
    launches.make(50)
    launches.finish()
    for inside, after in ((120, 70), (30, 0)):
        torch.cuda.profiler.start()
        launches.make(inside)
        launches.finish()
        torch.cuda.profiler.stop()
        launches.make(after)
        launches.finish()
    print("in_region", 150)
    print("launches", launches.count)


def span():
    """Launches all the time for six seconds."""
    launches = Launches()
    end = time.monotonic() + 6
    while time.monotonic() < end:
        launches.make(10)
        launches.mark()
        time.sleep(0.01)
    launches.finish()
    launches.mark(now=True)
    print("six seconds over")


def kill():
    """Launches all the time, and after three seconds ends by SIGKILL: nothing of the process gets to run after it."""
    launches = Launches()
    print("until killed", flush=True)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        launches.make(20)
        launches.mark()
        time.sleep(0.002)
    launches.mark(now=True)
    os.kill(os.getpid(), signal.SIGKILL)


def exit_at_once():
    """_exit(3): no exit handler runs. Everything is more than a second old by then."""
    launches = Launches()
    launches.make(500)
    launches.finish()
    time.sleep(1.5)
    print("launches", launches.count, flush=True)
    os._exit(3)


def nvtx():
    """Ranges in ranges, opened by context managers and by push and pop."""
    launches = Launches()
    for _ in range(30):
        with torch.cuda.nvtx.range("step"):
            with torch.cuda.nvtx.range("forward"):
                launches.make(5)
            torch.cuda.nvtx.range_push("backward")
            launches.make(3)
            torch.cuda.nvtx.range_pop()
    launches.finish()
    print("range step > forward", 30 * 5)
    print("range step > backward", 30 * 3)
    print("launches", launches.count)


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.ones(8) * index


def feed(workers, context):
    launches = Launches()
    total = 0.0
    for batch in torch.utils.data.DataLoader(Samples(), batch_size=8, num_workers=workers, multiprocessing_context=context):
        total += (batch.cuda() * 2).sum().item()
        launches.count += 2
    print("total", total)
    print("launches", launches.count)


def loader():
    """Four forked worker processes feed the one that uses the GPU, which has used it before the fork."""
    feed(4, "fork")


def spawned_loader():
    """Likewise, of worker processes that begin anew, with the same environment, and use no CUDA."""
    feed(2, "spawn")


class DeadlySamples(Samples):
    def __getitem__(self, index):
        if index == 30:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


def killed_worker():
    """A forked worker is killed, as by the system for want of memory: the program is told, and goes on."""
    launches = Launches()
    launches.make(50)
    launches.finish()
    try:
        for _ in torch.utils.data.DataLoader(DeadlySamples(), batch_size=8, num_workers=2, multiprocessing_context="fork"):
            pass
        print("no worker was missed")
    except RuntimeError:
        print("a worker was missed")
    launches.make(50)
    launches.finish()
    print("launches", launches.count)


def children():
    """Two more processes that use the GPU at the same time, with the same environment."""
    processes = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "child"]) for _ in range(2)]
    launches = Launches()
    launches.make(100)
    launches.finish()
    print("exit codes", [process.wait() for process in processes])
    print("launches_of_child", 201)
    print("launches_of_child", 201)
    print("launches", launches.count)


def child():
    launches = Launches()
    launches.make(200)
    launches.finish()
    # Both are alive at once.
    time.sleep(0.5)


def profiler():
    """Uses PyTorch's own profiler, which needs CUPTI as gpuexec does."""
    from torch.profiler import ProfilerActivity, profile

    values = torch.randn(256, 256, device="cuda")
    for _ in range(50):
        values @ values
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiled:
        for _ in range(100):
            values @ values
        torch.cuda.synchronize()
    print("before_profiler", 50)
    print("gpu_events", sum(str(event.device_type).endswith("CUDA") for event in profiled.events()))


def memory_limit():
    """Allocations are refused, by size and by a limit of its own; what is there goes on being used, and freed memory again."""
    launches = Launches()
    launches.make(50)
    for name, size in (("a petabyte", 1 << 50), ("a block", 64 << 20)):
        torch.cuda.set_per_process_memory_fraction(0.01)
        blocks = []
        try:
            # Until there is no more.
            while True:
                blocks.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.cuda.OutOfMemoryError:
            print(name, "was refused; some before it were not:", len(blocks) > 0)
        launches.make(50)
        del blocks
        torch.cuda.empty_cache()
    launches.make(50)
    launches.finish()
    print("launches", launches.count)


def streams():
    """Four streams that wait for each other by events; then the same kernels as a graph, replayed."""
    launches, lanes = Launches(), [torch.cuda.Stream() for _ in range(4)]
    values = torch.ones(1024, device="cuda")
    launches.count += 1
    torch.cuda.synchronize()
    for step in range(200):
        now, after = lanes[step % 4], lanes[(step + 1) % 4]
        with torch.cuda.stream(now):
            values.add_(1)
            launches.count += 1
        after.wait_event(now.record_event())
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(8):
            values.add_(1)
    for _ in range(20):
        graph.replay()
    torch.cuda.synchronize()
    print("value", values[7].item())
    # PyTorch may launch more of its own, for the generators of random numbers of a graph.
    print("launches_at_least", launches.count)
    print("graph_launches", 20)
    print("graph_kernels", 20 * 8)


def broken():
    """An index out of range is noticed on the device: all later calls fail. The program sees that, and leaves with 3."""
    launches = Launches()
    launches.make(100)
    launches.finish()
    values, index = torch.ones(8, device="cuda"), torch.tensor([100]).cuda()
    for name in ("index", "later"):
        try:
            _ = values[index] if name == "index" else values + 1
            torch.cuda.synchronize()
            print(name, "went through")
        except RuntimeError:
            print(name, "failed")
    # Those before it, the fill and the one at fault.
    print("launches_at_least", launches.count + 2, flush=True)
    sys.exit(3)


SCENARIOS = (region, span, kill, exit_at_once, nvtx, loader, spawned_loader, killed_worker, children, child, profiler,
             memory_limit, streams, broken)


if __name__ == "__main__":
    named = {function.__name__: function for function in SCENARIOS}
    if len(sys.argv) != 2 or sys.argv[1] not in named:
        sys.exit(f"usage: scenarios.py {'|'.join(named)}")
    named[sys.argv[1]]()
