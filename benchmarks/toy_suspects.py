"""Why the toy network did not learn: each suspect switched on alone, everything else right.

    python benchmarks/toy_suspects.py

prints the table of docs/how/cudnn.md: two LSTM layers of 20, V 255, B 1, T 3, plain SGD on one
sentence, the loss in nats per symbol.
"""

import argparse
from dataclasses import dataclass, field

import torch
from torch import Tensor

from seqkit.config import ModelConfig
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import cross_entropy

SENTENCE = "one sentence is all that it has to know.\n"
"""Of `recipe=toy_sentence`."""
SUSPECTS = {
    "none": "nothing: w -= lr dw, state carried, y read, lr 0.5",
    "sign": "w += lr dw",
    "stale": "the forward pass is not run again: one gradient for ever",
    "biases": "every bias is 1, not the forget gate's alone",
    "state": "zero state before every window of 3",
    "hy": "the head reads hy, the last state, for all three targets",
    "rate": "lr 0.001, which is one for Adam",
}
STEPS = 6000
_T = 3
_RATE = 0.5


@dataclass
class Curve:
    """Losses by step: what the training saw, and the streaming loss of the whole sentence."""

    steps: list[int] = field(default_factory=list)
    seen: list[float] = field(default_factory=list)
    true: list[float] = field(default_factory=list)


def train(suspect: str, steps: int = STEPS, every: int = 1000, seed: int = 0) -> Curve:
    """Train by plain SGD with one thing wrong; `suspect` is a key of SUSPECTS."""
    config = ModelConfig(num_layers=2, hidden_size=20, vocabulary_size=255)
    model = CharRNN(config, torch.Generator().manual_seed(seed))
    if suspect == "biases":
        for name, parameter in model.named_parameters():
            if name.startswith("layers") and "bias_ih" in name:
                torch.nn.init.ones_(parameter)
    row = torch.tensor(list(SENTENCE.encode()) * (_T + 1))
    symbols = torch.cat([row[-1:], row])  # the input before the first symbol is a newline
    rate = 0.001 if suspect == "rate" else -_RATE if suspect == "sign" else _RATE
    curve = Curve()
    recent: list[float] = []
    state, place = model.zero_state(1), 0
    gradients: list[Tensor] = []
    for step in range(1, steps + 1):
        inputs, targets = symbols[place : place + _T, None], symbols[place + 1 :][:_T, None]
        if suspect != "stale" or not gradients:
            logits, after = model(inputs, state)
            if suspect == "hy":
                logits = model.head(after.h[-1]).expand(_T, -1, -1)
            loss = cross_entropy(logits, targets)
            gradients = list(torch.autograd.grad(loss, list(model.parameters())))
        with torch.no_grad():
            norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
            scale = rate / max(1.0, float(norm))
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter.sub_(scale * gradient)
        state = model.zero_state(1) if suspect == "state" else after.detached()
        place = (place + _T) % len(SENTENCE)
        recent = [*recent[-99:], float(loss.detach())]
        if step == 1 or step % every == 0:
            curve.steps.append(step)
            curve.seen.append(sum(recent) / len(recent))
            curve.true.append(streaming_loss(model, symbols, suspect == "state"))
    return curve


@torch.no_grad()
def streaming_loss(model: CharRNN, symbols: Tensor, windows: bool = False) -> float:
    """Nats per symbol of the last sentence of the row, after reading those before it.

    With `windows` the state is zero before every three symbols, as it was in that training.
    """
    count = len(SENTENCE)
    inputs, targets = symbols[:-1], symbols[1:]
    if windows:
        usable = len(inputs) // _T * _T
        inputs, targets = inputs[:usable].view(-1, _T).T, targets[:usable].view(-1, _T).T
        logits, _ = model(inputs, model.zero_state(inputs.shape[1]))
        return float(cross_entropy(logits, targets))
    logits, _ = model(inputs[:, None], model.zero_state(1))
    return float(cross_entropy(logits[-count:], targets[-count:, None]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    steps = parser.parse_args().steps
    for number, (suspect, meaning) in enumerate(SUSPECTS.items()):
        curve = train(suspect, steps)
        if number == 0:
            print(
                "| wrong |",
                " | ".join(f"step {step}" for step in curve.steps),
                "| seen in training |",
            )
            print("|---" * (len(curve.steps) + 2) + "|")
        losses = " | ".join(f"{loss:.3f}" for loss in curve.true)
        print(f"| {meaning} | {losses} | {curve.seen[-1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
