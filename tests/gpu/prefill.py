"""A prefill-like loop: 4,096 tokens at once through a transformer without a cache, bfloat16, one kernel after another.

Products are large, so that the GPU is busy throughout; the host waits after each step.
"""

import gpu_program

BATCH = 4
TOKENS = 1024
WIDTH = 2048
HEADS = 16
LAYERS = 4
STEPS_PER_PHASE = 50


class Prefill:
    def __init__(self, torch):
        self.torch = torch

        def weight(*shape):
            return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) / shape[-1] ** 0.5

        self.ones = torch.ones(WIDTH, device="cuda", dtype=torch.bfloat16)
        self.layers = [
            {"qkv": weight(3 * WIDTH, WIDTH), "out": weight(WIDTH, WIDTH), "up": weight(4 * WIDTH, WIDTH),
             "down": weight(WIDTH, 4 * WIDTH)}
            for _ in range(LAYERS)
        ]
        self.prompt = torch.randn(BATCH, TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
        self.hidden = self.prompt

    def step(self):
        functional = self.torch.nn.functional
        x = self.prompt
        for layer in self.layers:
            qkv = functional.linear(functional.layer_norm(x, (WIDTH,), self.ones), layer["qkv"])
            query, key, value = qkv.view(BATCH, TOKENS, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4).unbind(0)
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + functional.linear(mixed.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH), layer["out"])
            y = functional.gelu(functional.linear(functional.layer_norm(x, (WIDTH,), self.ones), layer["up"]))
            x = x + functional.linear(y, layer["down"])
        self.hidden = x
        self.torch.cuda.synchronize()


def main():
    arguments = gpu_program.parse_arguments(__doc__, 100)
    import torch

    torch.set_grad_enabled(False)
    torch.manual_seed(7)
    state = {}
    times = gpu_program.StepTimes(arguments.step_times)

    def set_up():
        state["prefill"] = Prefill(torch)

    def phase(steps):
        def run():
            for _ in range(steps):
                with times.step():
                    state["prefill"].step()

        return run

    def finish():
        hidden = state["prefill"].hidden
        print(f"prefill: mean {hidden.float().abs().mean().item():.3f}")
        if arguments.hash:
            gpu_program.print_hash("prefill", [hidden])

    phases = [set_up] + [phase(n) for n in gpu_program.chunks(arguments.steps, STEPS_PER_PHASE)] + [finish]
    gpu_program.run_phases(phases, arguments.count_with_torch_profiler)
    times.write()


if __name__ == "__main__":
    main()
