"""Several networks write a text together, and one network learns what they say of every symbol.

    python examples/teachers.py runs/t/0 runs/t/1 runs/t/2 runs/t/3 --judge test.txt

The teachers are checkpoints of the same text that differ in nothing but the seed. They predict
better together than any of them alone: each symbol that they write is drawn from the mean of their
probabilities. The student learns these probabilities at every place, and comes close to all of them
(knowledge distillation: Hinton, Vinyals and Dean, 2015). It never reads the text that they learnt.

Printed are nats per character of --judge, a text that nobody learnt. The student's weights go into
a file; `seqkit.load(TEACHER).char_rnn.load_state_dict(load_file(FILE))` makes a model of them. The
defaults are for a GPU and need 5 GB there.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import seqkit


@torch.no_grad()
def write(teachers: Sequence[Any], length: int, documents: int) -> tuple[Tensor, Tensor]:
    """Write documents of N symbols side by side, and tell how likely every symbol was.

    Returns:
        Symbols (N + 1, D), the first of them the start symbol, and probabilities (N, D, V) of all
        symbols in the places of the others.
    """
    codec, device = teachers[0].codec, teachers[0].device
    networks = [teacher.char_rnn.runnable_weights(dtype=precision(device)) for teacher in teachers]
    states = [teacher.char_rnn.zero_state(documents) for teacher in teachers]
    symbols = torch.full((length + 1, documents), codec.start, dtype=torch.int32, device=device)
    told = torch.empty(length, documents, codec.size, dtype=torch.float16, device=device)
    for place in range(length):
        mean = torch.zeros(documents, codec.size, device=device)
        for number, network in enumerate(networks):
            logits, states[number] = network(symbols[place : place + 1].long(), states[number])
            mean += logits[0, :, : codec.size].float().softmax(-1) / len(networks)
        told[place] = mean
        symbols[place + 1] = torch.multinomial(mean, 1)[:, 0]
    return symbols, told


def learn(student: seqkit.CharRNN, symbols: Tensor, told: Tensor, given: argparse.Namespace) -> Any:
    """Train on windows (T, B) of the documents, and return the running average of the weights."""
    device, steps, documents = told.device, given.sequence_length, told.shape[1]
    lanes, windows = min(given.batch_size, documents), len(told) // steps
    matrices = [weight for weight in student.parameters() if weight.dim() > 1]
    vectors = [weight for weight in student.parameters() if weight.dim() == 1]
    groups = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, given.lr, (0.9, 0.99), weight_decay=0.1, fused=True)
    scaler = torch.amp.GradScaler(device.type, enabled=precision(device) == torch.float16)
    average = AveragedModel(student, multi_avg_fn=get_ema_multi_avg_fn(given.average))
    for step in range(given.steps):
        if step % windows == 0:
            chosen = torch.randperm(documents, device=device)[:lanes]
            state = student.zero_state(lanes)
        state = state.detached().begun_anew(torch.rand(lanes, device=device) < given.reset)
        places = slice(step % windows * steps, (step % windows + 1) * steps)
        network = student.runnable_weights(dtype=precision(device))
        logits, state = network(symbols[places, chosen].long(), state)
        shares = told[places, chosen].float()
        loss = F.cross_entropy(
            logits[..., : shares.shape[-1]].float().flatten(0, 1), shares.flatten(0, 1)
        )
        warm, over = (step + 1) / given.warm_up, math.pi * step / given.steps
        for group in optimizer.param_groups:
            group["lr"] = given.lr * min(warm, 0.5 + 0.5 * math.cos(over))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        average.update_parameters(student)
        if step % 1000 == 0 or step == given.steps - 1:
            print(f"step {step}: {loss.item():.4f} nats, of the teachers' own text")
    return average.module


def precision(device: torch.device) -> torch.dtype:
    """Of the matrix products."""
    return torch.float16 if device.type == "cuda" else torch.float32


def nats_together(models: Sequence[Any], text: str) -> float:
    """The mean nats of a text by the mean of the models' probabilities."""
    each = np.stack([model.nats(text) for model in models])  # (K, N)
    return float(np.mean(math.log(len(models)) - np.logaddexp.reduce(-each)))


def main() -> None:
    """Let the teachers write, train the student, and judge all of them."""
    parser = argparse.ArgumentParser(description="One network learns from several.")
    parser.add_argument("teachers", nargs="+", help="folders of runs, or checkpoints' files")
    parser.add_argument("--judge", type=Path, required=True, help="a text that nobody learnt")
    parser.add_argument("--out", default="student.safetensors", help="the file of the weights")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--symbols", type=int, default=40_000_000, help="that the teachers write")
    parser.add_argument("--steps", type=int, default=32_000)
    parser.add_argument("--batch-size", type=int, default=112)
    parser.add_argument("--sequence-length", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.003, help="the peak, before half a cosine")
    parser.add_argument("--warm-up", type=int, default=100, help="steps")
    parser.add_argument("--average", type=float, default=0.9995, help="of the weights: its decay")
    parser.add_argument("--reset", type=float, default=0.02, help="share of states that are zeroed")
    parser.add_argument("--seed", type=int, default=9)
    given = parser.parse_args()

    torch.manual_seed(given.seed)
    teachers = [seqkit.load(name, device=given.device) for name in given.teachers]
    if any(each.codec.to_spec() != teachers[0].codec.to_spec() for each in teachers):
        parser.error("the teachers have different symbols: train them on one text")
    text = given.judge.read_text(encoding="utf-8")
    print(f"one teacher: {nats_together(teachers[:1], text):.4f} nats per character")
    print(f"all {len(teachers)}: {nats_together(teachers, text):.4f}")

    documents = max(1, min(given.symbols // 1024, 4096))
    symbols, told = write(teachers, -(-given.symbols // documents), documents)
    network = teachers[0].char_rnn
    student = seqkit.CharRNN(network.config, torch.Generator().manual_seed(given.seed))
    learnt = learn(student.to(network.device), symbols, told, given)
    network.load_state_dict(learnt.state_dict())  # from here on the first teacher is the student
    print(f"the student: {nats_together(teachers[:1], text):.4f}")
    save_file({name: values.cpu() for name, values in learnt.state_dict().items()}, given.out)


if __name__ == "__main__":
    main()
