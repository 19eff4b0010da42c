"""A training loop of your own, from seqkit's parts and an optimizer of PyTorch.

    python examples/training_loop.py novel.txt --steps 1000

The state of the network goes in and comes out: each window goes on where the one before it ended.
"""

import argparse
from pathlib import Path

import torch

import seqkit


def main() -> None:
    """Train a small network on nine tenths of a text, and measure its loss on the last tenth."""
    parser = argparse.ArgumentParser(description="A training loop from seqkit's parts.")
    parser.add_argument("text", type=Path, help="a text file")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--hidden-size", type=int, default=128)
    given = parser.parse_args()

    text = given.text.read_text(encoding="utf-8")
    codec = seqkit.codecs.Characters.fit([text])
    symbols = codec.encode(text)  # (N,)
    cut = len(symbols) * 9 // 10
    lanes = seqkit.Lanes(seqkit.Part.of(symbols[:cut]), codec.start, 16, 32)

    config = seqkit.ModelConfig(hidden_size=given.hidden_size, vocabulary_size=codec.size)
    model = seqkit.CharRNN(config, torch.Generator().manual_seed(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)

    state = model.zero_state(lanes.batch_size)
    for step in range(given.steps):
        window = lanes.window(step)  # inputs and targets, (T, B)
        state = state.detached().begun_anew(window.fresh)
        logits, state = model(window.inputs, state, resets=window.resets)
        loss = seqkit.cross_entropy(logits, window.targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0 or step == given.steps - 1:
            print(f"step {step}: {loss.item():.3f} nats per character")

    model.eval()
    rest = torch.from_numpy(symbols[cut:].astype("int64"))[:, None]  # (N, 1): one lane
    with torch.no_grad():
        logits, _ = model(rest[:-1], model.zero_state(1))
    print(f"on the last tenth: {seqkit.cross_entropy(logits, rest[1:]).item():.3f}")


if __name__ == "__main__":
    main()
