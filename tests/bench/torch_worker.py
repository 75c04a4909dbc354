"""PyTorch programs that run when they are told to, under one tool, and say how long that took. Used by device.py.

  torch_worker.py COMMANDS ANSWERS TOOL

COMMANDS and ANSWERS are FIFOs, opened in this order. TOOL is `none` (also for what is injected from outside), `torch_cuda`
and `torch_both` (PyTorch's profiler with CUDA activities, or CPU and CUDA), `proton` (Triton's). A line in, a line out:

  ready              "ready", once every program has run a few times
  add N              N eager `x.add_(1)` of a small tensor: "NS_OF_CALLS NS_OF_ALL"
  decode N           N eager steps of decode.py, about 600 small kernels each
  graph N            N replays of one such step from a CUDA graph
  prefill N, train N
  size PATH PROGRAM N  the tool's file of N steps: "KERNELS BYTES BYTES_GZIP" (PyTorch's profiler), "KERNELS BYTES" (Proton)
  quit

A tool is switched on before the clock starts and off after it has stopped: what it then makes of its records is not counted.
"""

import gzip
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "gpu"))
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


class Tool:
    """No tool: one that is there at all, is injected."""

    def __init__(self, torch, scratch):
        self.torch, self.scratch = torch, scratch

    def start(self):
        pass

    def stop(self):
        pass


class TorchProfiler(Tool):
    def __init__(self, torch, scratch, both):
        super().__init__(torch, scratch)
        kinds = torch.profiler.ProfilerActivity
        self.activities = [kinds.CPU, kinds.CUDA] if both else [kinds.CUDA]
        self.profiler = None

    def start(self):
        self.profiler = self.torch.profiler.profile(activities=self.activities, acc_events=False)
        self.profiler.start()

    def stop(self):
        self.profiler.stop()

    def size(self, path):
        self.profiler.export_chrome_trace(path)
        plain = os.path.getsize(path)
        with open(path, "rb") as source, gzip.open(path + ".gz", "wb", compresslevel=6) as packed:
            shutil.copyfileobj(source, packed)
        with open(path, encoding="utf-8") as source:
            kernels = sum(event.get("cat") == "kernel" for event in json.load(source)["traceEvents"])
        return kernels, plain, os.path.getsize(path + ".gz")


class Proton(Tool):
    def __init__(self, torch, scratch, data="tree"):
        super().__init__(torch, scratch)
        import triton.profiler

        self.proton, self.data, self.count = triton.profiler, data, 0
        self.path = None

    def start(self):
        self.count += 1
        self.path = os.path.join(self.scratch, f"proton_{os.getpid()}_{self.count}")
        self.proton.start(self.path, context="shadow", data=self.data, backend="cupti")

    def stop(self):
        self.proton.finalize()

    def size(self, path):
        del path
        files = [os.path.join(self.scratch, name) for name in os.listdir(self.scratch)
                 if name.startswith(os.path.basename(self.path) + ".")]
        return 0, sum(os.path.getsize(file) for file in files)


class Programs:
    """Every program set up, and run once."""

    def __init__(self, torch):
        self.torch = torch
        torch.manual_seed(1)
        self.small = torch.zeros(256, device="cuda")
        with torch.no_grad():
            import decode
            import prefill

            self.decoder = decode.Decoder(torch)
            self.prefiller = prefill.Prefill(torch)
            for _ in range(3):
                self.decoder.step()
                self.prefiller.step()
            side_stream = torch.cuda.Stream()
            side_stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side_stream):
                self.decoder.step()
            torch.cuda.current_stream().wait_stream(side_stream)
            self.captured = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.captured):
                self.decoder.step()
        self.set_up_training()

    def set_up_training(self):
        torch = self.torch
        width, tokens, batch = 512, 128, 16
        layer = torch.nn.TransformerEncoderLayer(width, nhead=8, dim_feedforward=4 * width, dropout=0.0, batch_first=True)
        self.model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, num_layers=6), torch.nn.Flatten(),
                                         torch.nn.Linear(tokens * width, 100)).cuda().train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5)
        self.inputs = torch.randn(batch, tokens, width, device="cuda")
        self.targets = torch.randint(0, 100, (batch,), device="cuda")
        self.train(3)

    def add(self, count):
        add = self.small.add_
        for _ in range(count):
            add(1)

    def decode(self, count):
        with self.torch.no_grad():
            for _ in range(count):
                self.decoder.step()

    def graph(self, count):
        for _ in range(count):
            self.captured.replay()

    def prefill(self, count):
        with self.torch.no_grad():
            for _ in range(count):
                self.prefiller.step()

    def train(self, count):
        for _ in range(count):
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.torch.nn.functional.cross_entropy(self.model(self.inputs), self.targets)
            loss.backward()
            self.optimizer.step()


def main():
    commands_path, answers_path, tool_name = sys.argv[1:4]
    scratch = os.path.dirname(os.path.abspath(answers_path))
    with open(commands_path, encoding="utf-8") as commands, open(answers_path, "w", encoding="utf-8") as answers:
        import torch

        programs = Programs(torch)
        if tool_name.startswith("torch_"):
            tool = TorchProfiler(torch, scratch, tool_name == "torch_both")
        elif tool_name.startswith("proton"):
            tool = Proton(torch, scratch, "trace" if tool_name == "proton_trace" else "tree")
        else:
            tool = Tool(torch, scratch)

        def run(name, count):
            # A step of the program's own before the clock, so that every turn begins warm.
            getattr(programs, name)(1)
            torch.cuda.synchronize()
            tool.start()
            begin = time.monotonic_ns()
            getattr(programs, name)(count)
            called = time.monotonic_ns()
            torch.cuda.synchronize()
            end = time.monotonic_ns()
            tool.stop()
            return called - begin, end - begin

        run("add", 100)
        torch.cuda.synchronize()
        for line in commands:
            words = line.split()
            if words[0] == "quit":
                break
            if words[0] == "ready":
                answer = ("ready",)
            elif words[0] == "size":
                run(words[2], int(words[3]))
                answer = tool.size(words[1])
            else:
                answer = run(words[0], int(words[1]))
            print(*answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
