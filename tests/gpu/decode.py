"""A decode-like loop: one token a step through a small transformer with a KV cache, batch 8, bfloat16.

About 600 small kernels a step. First launched one by one from Python, then captured in a CUDA graph and replayed as
often. Weights are random; what matters is the shape of the work.
"""

import time

import gpu_program

BATCH = 8
LAYERS = 36
WIDTH = 512
HEADS = 8
CACHE_TOKENS = 64
# Kernels of one profiler session stay well below its buffer limit.
STEPS_PER_PHASE = 50


class Decoder:
    def __init__(self, torch):
        self.torch = torch

        def weight(*shape):
            fan_in = shape[-1]
            return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) / fan_in**0.5

        def bias(size):
            return torch.zeros(size, device="cuda", dtype=torch.bfloat16)

        self.layers = []
        for _ in range(LAYERS):
            cache_shape = (BATCH, HEADS, CACHE_TOKENS, WIDTH // HEADS)
            self.layers.append(
                {
                    "norm1": (bias(WIDTH) + 1, bias(WIDTH)),
                    "qkv": (weight(3 * WIDTH, WIDTH), bias(3 * WIDTH)),
                    "out": (weight(WIDTH, WIDTH), bias(WIDTH)),
                    "norm2": (bias(WIDTH) + 1, bias(WIDTH)),
                    "up": (weight(4 * WIDTH, WIDTH), bias(4 * WIDTH)),
                    "down": (weight(WIDTH, 4 * WIDTH), bias(WIDTH)),
                    "keys": torch.zeros(cache_shape, device="cuda", dtype=torch.bfloat16),
                    "values": torch.zeros(cache_shape, device="cuda", dtype=torch.bfloat16),
                }
            )
        self.hidden = torch.randn(BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)
        self.position = torch.zeros(1, device="cuda", dtype=torch.int64)
        self.ramp = torch.linspace(-1, 1, BATCH * WIDTH, device="cuda").reshape(BATCH, WIDTH)

    def attention(self, layer, x):
        torch = self.torch
        qkv = torch.nn.functional.linear(x, *layer["qkv"])
        query, key, value = qkv.view(BATCH, 3, HEADS, 1, WIDTH // HEADS).unbind(1)
        layer["keys"].index_copy_(2, self.position, key)
        layer["values"].index_copy_(2, self.position, value)
        scores = torch.matmul(query, layer["keys"].transpose(2, 3)) * (WIDTH // HEADS) ** -0.5
        mixed = torch.matmul(torch.softmax(scores, dim=-1), layer["values"])
        return torch.nn.functional.linear(mixed.reshape(BATCH, WIDTH), *layer["out"])

    def step(self):
        torch = self.torch
        x = self.hidden
        for layer in self.layers:
            x = x + self.attention(layer, torch.nn.functional.layer_norm(x, (WIDTH,), *layer["norm1"]))
            y = torch.nn.functional.layer_norm(x, (WIDTH,), *layer["norm2"])
            y = torch.nn.functional.gelu(torch.nn.functional.linear(y, *layer["up"]))
            x = x + torch.nn.functional.linear(y, *layer["down"])
        self.hidden.copy_(torch.nn.functional.layer_norm(x, (WIDTH,)))
        self.position.add_(1).remainder_(CACHE_TOKENS)

    def print_checksum(self, label):
        checksum = (self.hidden.float() * self.ramp).sum().item()
        print(f"decode {label}: checksum {checksum:.2f}")

    def print_hash(self, label):
        caches = [layer[part] for layer in self.layers for part in ("keys", "values")]
        gpu_program.print_hash(f"decode {label}", [self.hidden] + caches)


def main():
    def add_options(parser):
        parser.add_argument("--eager-only", action="store_true", help="no graph")
        parser.add_argument("--graph-steps", type=int, metavar="N", help="replays of the graph (default: as many as --steps)")
        parser.add_argument("--pause-ms", type=float, default=0, metavar="N", help="after each replay wait for it, and so long more")

    arguments = gpu_program.parse_arguments(__doc__, 300, add_options)
    import torch

    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    state = {}
    times = gpu_program.StepTimes(arguments.step_times)

    def set_up():
        state["decoder"] = Decoder(torch)

    def eager_phase(steps):
        def run():
            with times.step("phase"):
                for _ in range(steps):
                    with times.step():
                        state["decoder"].step()
                torch.cuda.synchronize()

        return run

    def finish(label):
        state["decoder"].print_checksum(label)
        if arguments.hash:
            state["decoder"].print_hash(label)

    def finish_eager():
        finish("eager")

    def capture():
        decoder = state["decoder"]
        # Libraries must have set themselves up on the capturing stream before.
        side_stream = torch.cuda.Stream()
        side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side_stream):
            for _ in range(2):
                decoder.step()
        torch.cuda.current_stream().wait_stream(side_stream)
        state["graph"] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(state["graph"]):
            decoder.step()

    def replay_phase(steps):
        def run():
            for _ in range(steps):
                state["graph"].replay()
                if arguments.pause_ms:
                    torch.cuda.synchronize()
                    time.sleep(arguments.pause_ms / 1e3)

        return run

    def finish_graph():
        finish("graph")

    phases = [set_up]
    phases += [eager_phase(n) for n in gpu_program.chunks(arguments.steps, STEPS_PER_PHASE)]
    phases += [finish_eager]
    if not arguments.eager_only:
        phases += [capture]
        phases += [replay_phase(n) for n in gpu_program.chunks(arguments.graph_steps or arguments.steps, STEPS_PER_PHASE)]
        phases += [finish_graph]
    gpu_program.run_phases(phases, arguments.count_with_torch_profiler)
    times.write()


if __name__ == "__main__":
    main()
