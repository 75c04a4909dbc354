"""A small MLP with layer normalisation under torch.compile: kernels that Triton generates at run time.

Tuning by measurement is switched off, because it launches as many kernels as the clock allows: their number would
differ from run to run.
"""

import os

# Compile in this process, not in workers.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import gpu_program  # noqa: E402

BATCH = 256
WIDTH = 512


def main():
    arguments = gpu_program.parse_arguments(__doc__, 50)
    import torch
    import torch._inductor.config

    for name, value in (("deterministic", True), ("max_autotune", False), ("coordinate_descent_tuning", False)):
        if hasattr(torch._inductor.config, name):
            setattr(torch._inductor.config, name, value)
    if hasattr(torch._inductor.config.triton, "autotune_pointwise"):
        torch._inductor.config.triton.autotune_pointwise = False
    # Inductor measures nothing when results must be deterministic.
    torch.use_deterministic_algorithms(True)
    torch.set_grad_enabled(False)
    torch.manual_seed(2)
    state = {}

    def set_up():
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = torch.nn.LayerNorm(WIDTH)
                self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
                self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

            def forward(self, x):
                return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x)))) * torch.sigmoid(x)

        state["model"] = torch.compile(torch.nn.Sequential(Block(), Block(), torch.nn.LayerNorm(WIDTH)).cuda())
        state["x"] = torch.randn(BATCH, WIDTH, device="cuda")
        state["ramp"] = torch.linspace(-1, 1, BATCH * WIDTH, device="cuda").reshape(BATCH, WIDTH)

    def iterate():
        x = state["x"]
        for _ in range(arguments.steps):
            x = state["model"](x)
        print(f"compiled: checksum {(x * state['ramp']).sum().item():.2f}")

    gpu_program.run_phases([set_up, iterate], arguments.count_with_torch_profiler)


if __name__ == "__main__":
    main()
