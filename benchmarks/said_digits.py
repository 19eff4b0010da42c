"""How often a model of spoken digits says what it was asked for, in the voice that it was asked for.

    python benchmarks/said_digits.py DIGITS CHECKPOINT… --count 600 --strength 1 2

A network that listens is trained on the data set's training files alone. It has to be right about
97 % of its test files before anything that a checkpoint says is judged by it.
"""

import argparse
import json
import re
from pathlib import Path

import numpy as np
import soundfile
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import seqkit

RATE, LENGTH = 8000, 8000
NAME = re.compile(r"(\d)_([a-z]+)_(\d+)\.wav")
STEPS, BATCH, COPIES = 1200, 64, 3


class Listener(nn.Module):
    """Logits of digits (N, 10) and speakers (N, 6) of waves (N, 8000)."""

    def __init__(self, speakers: int) -> None:
        super().__init__()
        widths = [1, 24, 48, 96, 128]
        pairs = list(zip(widths, widths[1:], strict=False))
        self.layers = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in pairs)
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b in pairs)
        self.digit, self.speaker = nn.Linear(256, 10), nn.Linear(256, speakers)

    def forward(self, waves: Tensor) -> tuple[Tensor, Tensor]:
        window = torch.hann_window(256, device=waves.device)
        power = torch.stft(waves, 256, 100, window=window, return_complex=True).abs().square()
        bands = (F.adaptive_avg_pool2d(power[:, None], (48, power.shape[2])) + 1e-5).log()
        x = (bands - bands.mean((1, 2, 3), keepdim=True)) / 3
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = F.max_pool2d(F.relu(norm(layer(x))), 2)
        x = torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)
        x = F.dropout(x, 0.3, self.training)
        return self.digit(x), self.speaker(x)


def fitted(wave: np.ndarray) -> np.ndarray:
    """A wave as loud as all others and a second long, its loud part in the middle."""
    loud = np.flatnonzero(np.abs(wave) > np.abs(wave).max() / 20)
    wave = wave[loud[0] : loud[-1] + 1][:LENGTH] if len(loud) else wave[:LENGTH]
    wave = wave / max(float(np.sqrt(np.square(wave).mean())), 1e-6) * 0.1
    before = (LENGTH - len(wave)) // 2
    return np.pad(wave, (before, LENGTH - len(wave) - before)).astype(np.float32)


def read(folder: Path) -> tuple[list[np.ndarray], list[tuple[int, str]], list[bool]]:
    """The waves, their labels, and whether each is of the test files, 0 to 4 of each voice."""
    waves, labels, tests = [], [], []
    for path in sorted(folder.rglob("*.wav")):
        if match := NAME.fullmatch(path.name):
            wave, rate = soundfile.read(path, dtype="float32")
            assert rate == RATE
            waves.append(fitted(wave))
            labels.append((int(match[1]), match[2]))
            tests.append(int(match[3]) < 5)
    return waves, labels, tests


def learn(waves: Tensor, digits: Tensor, speakers: Tensor, count: int) -> Listener:
    """A listener trained on waves (N, 8000) with noise, other loudness, and a little shifted."""
    torch.manual_seed(0)
    model = Listener(count).to(waves.device)
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, STEPS)
    for step in range(STEPS):
        chosen = torch.randint(len(waves), (BATCH,), device=waves.device)
        heard = waves[chosen].roll(int(torch.randint(-800, 800, ())), 1)
        size = 0.02 * torch.rand(BATCH, 1, device=waves.device) ** 2
        heard = heard + size * torch.randn_like(heard)
        digit, speaker = model(heard)
        loss = F.cross_entropy(digit, digits[chosen]) + F.cross_entropy(speaker, speakers[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"listener: step {step}, loss {float(loss.detach()):.3f}", flush=True)
    return model.eval()


@torch.inference_mode()
def heard(model: Listener, waves: Tensor) -> tuple[Tensor, Tensor]:
    """The digits and speakers (N,) that a listener hears."""
    found = [model(part) for part in waves.split(256)]
    digit, speaker = (torch.cat(own) for own in zip(*found, strict=True))
    return digit.argmax(1), speaker.argmax(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("digits", type=Path)
    parser.add_argument("checkpoints", nargs="*")
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--strength", type=float, nargs="*", default=[1.0])
    parser.add_argument("--temperature", type=float, default=None)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--keep", type=Path, help="a folder for the first sixty sounds")
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    waves, labels, tests = read(given.digits)
    names = sorted({name for _, name in labels})
    all_waves = torch.from_numpy(np.stack(waves)).to(device)
    digits = torch.tensor([digit for digit, _ in labels], device=device)
    speakers = torch.tensor([names.index(name) for _, name in labels], device=device)
    test = torch.tensor(tests, device=device)
    model = learn(all_waves[~test], digits[~test], speakers[~test], len(names))
    digit, speaker = heard(model, all_waves[test])
    own = {
        "digits": float((digit == digits[test]).float().mean()),
        "speakers": float((speaker == speakers[test]).float().mean()),
    }
    print(json.dumps({"listener, test files": own}), flush=True)
    asked = [(d, name) for d in range(10) for name in names]
    for path in given.checkpoints:
        spoken = seqkit.load(path)
        for strength in given.strength:
            made, wanted = [], []
            for number in range(given.count):
                digit_asked, name = asked[number % len(asked)]
                wave = spoken.generate(
                    label=f"digit:{digit_asked},speaker:{name}",
                    label_strength=strength,
                    temperature=given.temperature,
                    seed=given.seed + number,
                )
                if given.keep and number < len(asked):
                    given.keep.mkdir(parents=True, exist_ok=True)
                    soundfile.write(given.keep / f"{digit_asked}_{name}.wav", wave, RATE)
                made.append(fitted(wave))
                wanted.append((digit_asked, names.index(name)))
            digit, speaker = heard(model, torch.from_numpy(np.stack(made)).to(device))
            right = torch.tensor(wanted, device=device)
            found = {
                "checkpoint": path,
                "strength": strength,
                "sounds": given.count,
                "digits": float((digit == right[:, 0]).float().mean()),
                "speakers": float((speaker == right[:, 1]).float().mean()),
            }
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
