"""Training steps that keep the GPU busy for a set time: a transformer of 8 layers, bfloat16, AdamW, a loss read each step.

  gpu_bound.py --seconds S [--sync-every N] [--step-times FILE]

Nearly all of a step is GPU time: the host is far ahead when it waits. --sync-every N: the host waits after every N steps
only, and runs ahead until then; N steps then count as one in the file of times. Prints nothing that depends on the time.
"""

import argparse
import time

import gpu_program

BATCH = 64
TOKENS = 512
WIDTH = 1024
HEADS = 16
LAYERS = 8
WORDS = 8192
WARM_UP_STEPS = 5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--sync-every", type=int, default=1, metavar="N")
    parser.add_argument("--step-times", metavar="FILE")
    arguments = parser.parse_args()
    import torch

    torch.manual_seed(5)
    times = gpu_program.StepTimes(arguments.step_times)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
            self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
            self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            qkv = self.qkv(self.norm1(x)).view(BATCH, TOKENS, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            mixed = torch.nn.functional.scaled_dot_product_attention(*qkv.unbind(0), is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))
            return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))

    model = torch.nn.Sequential(
        torch.nn.Embedding(WORDS, WIDTH), *(Block() for _ in range(LAYERS)), torch.nn.LayerNorm(WIDTH),
        torch.nn.Linear(WIDTH, WORDS),
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    words = torch.randint(0, WORDS, (BATCH, TOKENS + 1), device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(words[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.reshape(-1, WORDS), words[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(WARM_UP_STEPS):
        step()
    torch.cuda.synchronize()
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        with times.step():
            for _ in range(arguments.sync_every):
                loss = step()
            loss.item()
    print("loss is a number:", "yes" if loss.item() == loss.item() else "no")
    times.write()


if __name__ == "__main__":
    main()
