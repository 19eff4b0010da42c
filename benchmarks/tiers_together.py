"""Two tiers that are trained together, as in SampleRNN, on a recording, and how much it is like it.

    python benchmarks/tiers_together.py take.wav --minutes 8

`recipe=my_sound` learns its slow tier apart, from codes. In SampleRNN (Mehri et al., 2017) a slow
tier reads frames of samples, what it finds is brought up to the rate of samples by learned weights,
and a fast tier reads that and the samples of the last frame; one loss trains both. Here the slow
tier is an LSTM that reads 16 samples at a time, the fast one two layers over the embeddings of the
last 16 samples. Sound, symbols and the comparison are those of `recipe=my_sound`.
"""

import argparse
import copy
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqkit.config import DataConfig
from seqkit.data.codecs import Quantiser
from seqkit.data.load import load_corpus
from seqkit.data.sound.part import SoundPart
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session
from seqkit.stages.conditions import recording_of
from seqkit.stages.parts import trimmed

_FRAME, _FRAMES, _LANES = 16, 32, 32  # samples of a frame, frames of a window, lanes
_HIDDEN, _EMBEDDED = 384, 64
_RATE, _AVERAGE, _CLIP = 2e-3, 0.999, 1.0
_SOUNDS, _SECONDS = 3, 10

State = tuple[Tensor, Tensor]


class Tiers(nn.Module):
    """A slow tier of frames over a fast one of samples."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.slow = nn.LSTM(_FRAME, _HIDDEN)
        self.up = nn.Linear(_HIDDEN, _FRAME * _HIDDEN)
        self.embedding = nn.Embedding(size, _EMBEDDED)
        self.near = nn.Linear(_FRAME * _EMBEDDED, _HIDDEN)
        self.fast = nn.Linear(_HIDDEN, _HIDDEN)
        self.head = nn.Linear(_HIDDEN, size)
        self._middle = size // 2

    def above(self, frames: Tensor, state: State | None) -> tuple[Tensor, State]:
        """What frames (n, B, 16) say of each sample of the next one, (n * 16, B, H), and state."""
        y, after = self.slow((frames - self._middle) / self._middle, state)
        each = self.up(y).view(*y.shape[:2], _FRAME, _HIDDEN).movedim(2, 1)
        return each.flatten(0, 1), after

    def forward(self, near: Tensor, told: Tensor) -> Tensor:
        """Logits (T, B, V) of samples, given the 16 before each (T, B, 16) and what is told."""
        x = (self.near(self.embedding(near).flatten(-2)) + told).relu()
        logits: Tensor = self.head(self.fast(x).relu())
        return logits


def train(symbols: Tensor, size: int, seconds: float) -> tuple[Tiers, int]:
    """Tiers that learnt symbols (N,) for so long, with their weights averaged, and the steps."""
    model = Tiers(size)
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE)
    length = _FRAME * _FRAMES
    lane = torch.arange(_LANES) * (len(symbols) // _LANES)
    offset = torch.arange(-2 * _FRAME, length)[:, None]
    state, step, begun = None, 0, time.monotonic()
    while (spent := (time.monotonic() - begun) / seconds) < 1:
        optimizer.param_groups[0]["lr"] = _RATE * (1 + math.cos(math.pi * spent)) / 2
        window = symbols[(lane + step * length + offset) % len(symbols)]  # (32 + T, B)
        frames = window[_FRAME:-_FRAME].view(_FRAMES, _FRAME, _LANES).movedim(1, 2)
        near = window[_FRAME:-1].unfold(0, _FRAME, 1)
        with torch.autocast("cpu", torch.bfloat16):
            told, after = model.above(frames.float(), state)
            logits = model(near, told)
        loss = F.cross_entropy(logits.float().flatten(0, 1), window[2 * _FRAME :].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        optimizer.step()
        decay = min(_AVERAGE, (step + 1) / (step + 10))
        torch._foreach_lerp_([*average.parameters()], [*model.parameters()], 1 - decay)
        state, step = (after[0].detach(), after[1].detach()), step + 1
        if step % 500 == 0:
            print(f"step {step}: {float(loss.detach()) / math.log(2):.2f} bits", flush=True)
    return average, step


@torch.inference_mode()
def generate(model: Tiers, start: int, samples: int, streams: int) -> Tensor:
    """Symbols (N, S) that follow silence."""
    draw = torch.Generator().manual_seed(1)
    made = torch.full((_FRAME + samples, streams), start)
    state = None
    for begin in range(_FRAME, len(made) - _FRAME + 1, _FRAME):
        told, state = model.above(made[begin - _FRAME : begin].T[None].float(), state)
        for place in range(_FRAME):
            near = made[begin + place - _FRAME : begin + place].T[None]
            shares = model(near, told[place : place + 1])[0].softmax(-1)
            made[begin + place] = torch.multinomial(shares, 1, generator=draw)[:, 0]
    return made[_FRAME:]


def main() -> None:
    """Train, generate and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", type=Path)
    parser.add_argument("--minutes", type=float, default=8)
    asked = parser.parse_args()
    torch.manual_seed(0)
    data = DataConfig(
        path=[str(asked.recording)], kind="audio", sample_rate=8000, gain="peak", trim_silence=40
    )
    corpus = load_corpus(data, Session(Catalogue(), print))
    codec = corpus.codec
    assert isinstance(codec, Quantiser)
    whole = SoundPart(corpus.whole, codec)
    part = trimmed(whole, data.trim_silence).part
    symbols = torch.from_numpy(part.symbols[:].astype(np.int64))
    model, steps = train(symbols, codec.size, 60 * asked.minutes)
    print(f"{steps} steps, {sum(own.numel() for own in model.parameters()):,} parameters")
    recording = recording_of(whole, corpus.name, data)
    made = generate(model, codec.start, _SECONDS * codec.sample_rate, _SOUNDS)
    for sound in made.T.numpy():
        print("it", recording.judged(codec.decode(sound), codec.sample_rate).words)


if __name__ == "__main__":
    main()
