"""Kernels that are known to be near what the GPU can do: a large BF16 product of cuBLAS, and an element-wise pass over 2 GiB.

The host waits after each, so that whoever wants an idle device gets one. The pass negates: PyTorch copies without a kernel.
"""

import gpu_program

SIDE = 8192
ELEMENTS = 1 << 28
STEPS_PER_PHASE = 100


def main():
    arguments = gpu_program.parse_arguments(__doc__, 1000)
    import torch

    torch.set_grad_enabled(False)
    torch.manual_seed(9)
    state = {}

    def set_up():
        state["a"] = torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16)
        state["b"] = torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16)
        state["product"] = torch.empty(SIDE, SIDE, device="cuda", dtype=torch.bfloat16)
        state["in"] = torch.randn(ELEMENTS, device="cuda")
        state["out"] = torch.empty(ELEMENTS, device="cuda")

    def phase(steps):
        def run():
            for _ in range(steps):
                torch.matmul(state["a"], state["b"], out=state["product"])
                torch.cuda.synchronize()
                torch.neg(state["in"], out=state["out"])
                torch.cuda.synchronize()

        return run

    def finish():
        print(f"product: mean {state['product'].float().abs().mean().item():.2f}")
        print(f"pass: {'right' if torch.equal(state['out'], -state['in']) else 'WRONG'}")

    phases = [set_up] + [phase(n) for n in gpu_program.chunks(arguments.steps, STEPS_PER_PHASE)] + [finish]
    gpu_program.run_phases(phases, arguments.count_with_torch_profiler)


if __name__ == "__main__":
    main()
