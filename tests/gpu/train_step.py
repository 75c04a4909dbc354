"""Training steps of a small transformer classifier: forward, backward (on autograd's own thread), AdamW."""

import gpu_program

BATCH = 16
TOKENS = 64
WIDTH = 256
CLASSES = 100


def main():
    arguments = gpu_program.parse_arguments(__doc__, 20)
    import torch
    import torch.nn.attention

    torch.manual_seed(3)
    torch.use_deterministic_algorithms(True)
    state = {}

    def set_up():
        layer = torch.nn.TransformerEncoderLayer(
            WIDTH, nhead=4, dim_feedforward=4 * WIDTH, dropout=0.0, batch_first=True
        )
        model = torch.nn.Sequential(
            torch.nn.TransformerEncoder(layer, num_layers=4), torch.nn.Flatten(), torch.nn.Linear(TOKENS * WIDTH, CLASSES)
        )
        state["model"] = model.cuda().train()
        state["optimizer"] = torch.optim.AdamW(state["model"].parameters(), lr=1e-5)
        state["x"] = torch.randn(BATCH, TOKENS, WIDTH, device="cuda")
        state["y"] = torch.randint(0, CLASSES, (BATCH,), device="cuda")

    def train():
        # The plain attention: deterministic forwards and backwards on every GPU.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            for step in range(arguments.steps):
                state["optimizer"].zero_grad(set_to_none=True)
                loss = torch.nn.functional.cross_entropy(state["model"](state["x"]), state["y"])
                loss.backward()
                state["optimizer"].step()
                if step == 0:
                    print(f"train: first loss {loss.item():.4f}")
        print(f"train: last loss {loss.item():.4f}")
        if arguments.hash:
            gpu_program.print_hash("train", [loss.reshape(1)] + list(state["model"].parameters()))

    gpu_program.run_phases([set_up, train], arguments.count_with_torch_profiler)


if __name__ == "__main__":
    main()
