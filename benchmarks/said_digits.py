"""How often a model of spoken digits says what it was asked for, in the voice asked for.

    python benchmarks/said_digits.py DIGITS CHECKPOINT… --each 10 --strength 1 2

A network that listens is trained on the data set's training files alone. It has to be right about
97 % of its test files before anything that a checkpoint says is judged by it.
"""

import argparse
import dataclasses
import itertools
import json
import re
import zlib
from pathlib import Path

import numpy as np
import soundfile
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqkit.api import checkpoint_data
from seqkit.config import Config
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.evaluation import scoring, streaming
from seqkit.evaluation.score import interval
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.generation.continuation import continue_prompt
from seqkit.generation.ending import Ending, without_ended
from seqkit.generation.request import Request
from seqkit.generation.sampling import Sampling
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.named_checkpoint import load_checkpoint

RATE, LENGTH = 8000, 8000
NAME = re.compile(r"(\d)_([a-z]+)_(\d+)\.wav")
STEPS, BATCH = 1200, 64


class Listener(nn.Module):
    """Logits of digits (N, 10) and speakers (N, 6) of waves (N, 8000)."""

    def __init__(self, speakers: int) -> None:
        super().__init__()
        widths = [1, 24, 48, 96, 128]
        pairs = list(itertools.pairwise(widths))
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
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"listener: step {step}, loss {float(loss.detach()):.3f}", flush=True)
    return model.eval()


@torch.inference_mode()
def heard(model: Listener, waves: Tensor) -> tuple[Tensor, Tensor]:
    """The digits and speakers (N,) that a listener hears."""
    found = [model(part) for part in torch.split(waves, 256)]
    digit, speaker = (torch.cat(own) for own in zip(*found, strict=True))
    return digit.argmax(1), speaker.argmax(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("digits", type=Path)
    parser.add_argument("checkpoints", nargs="*")
    parser.add_argument("--each", type=int, default=10, help="sounds of a digit and a voice")
    parser.add_argument("--strength", type=float, nargs="*", default=[1.0])
    parser.add_argument("--temperature", type=float, default=0.9)
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
    said, by = heard(model, all_waves[test])
    own = {
        "digits": float((said == digits[test]).float().mean()),
        "speakers": float((by == speakers[test]).float().mean()),
    }
    print(json.dumps({"listener, test files": own}), flush=True)
    for path in given.checkpoints:
        saved = load_checkpoint(path, Catalogue(), Console(quiet=True))
        told_right(saved, torch.device(device))
        for strength in given.strength:
            right = np.zeros(2, int)
            for digit, speaker in itertools.product(range(10), range(len(names))):
                label = f"digit:{digit},speaker:{names[speaker]}"
                sounds = made(saved, label, strength, given, torch.device(device))
                if given.keep and strength == 1:
                    given.keep.mkdir(parents=True, exist_ok=True)
                    soundfile.write(given.keep / f"{digit}_{names[speaker]}.wav", sounds[0], RATE)
                said, by = heard(
                    model, torch.from_numpy(np.stack([*map(fitted, sounds)])).to(device)
                )
                right += int((said == digit).sum()), int((by == speaker).sum())
            count = 10 * len(names) * given.each
            digits_right, speakers_right = (right / count).tolist()
            found = {"checkpoint": path, "strength": strength, "sounds": count}
            found |= {"digits": digits_right, "speakers": speakers_right}
            print(json.dumps(found), flush=True)


def made(
    saved: Checkpoint, label: str, strength: float, given: argparse.Namespace, device: torch.device
) -> list[np.ndarray]:
    """Sounds that have a label, as many as are asked for."""
    request = Request(
        length=2 * RATE,
        streams=given.each,
        sampling=Sampling(given.temperature, seed=zlib.crc32(label.encode())),
        label=label,
        label_strength=strength,
        ending=Ending((), is_document=True),
    )
    trained = dataclasses.replace(saved.trained(saved.build(device)), recording=None)
    nothing = np.zeros(0, np.uint8)
    blocks = continue_prompt(trained, nothing, request, notice=lambda said: None)
    rows, codec = np.concatenate([*blocks]), saved.codec
    assert isinstance(codec, Quantiser)
    return [codec.decode(without_ended(stream)) for stream in rows.T]


def told_right(saved: Checkpoint, device: torch.device) -> None:
    """Print the bits of the test files, told the right labels, none, and those of another file."""
    config = Config(part="test")
    part, _ = checkpoint_data.asked_for(config, saved, Catalogue(), Console())
    labels, slow = saved.labels, saved.slow
    assert labels is not None and slow is not None
    assert part.labels is not None and part.codes is not None
    hop = slow.codebook.hop
    starts = np.round(part.starts / hop).astype(np.int64)
    codes = Part(part.codes[::hop], starts, labels=part.labels)
    other = part.labels % labels.sizes + 1
    networks = {
        "samples": (saved.build(device), part),
        "codes": (slow.writer.char_rnn().to(device), codes),
    }
    for kind, (network, whole) in networks.items():
        start = saved.codec.start if kind == "samples" else 0
        for name, told in (("right", part.labels), ("none", 0 * part.labels), ("other", other)):
            asked = dataclasses.replace(whole, labels=told)
            score = streaming.evaluate(scoring.Scored(network, asked, start))
            bounds = interval(score)
            found = {"told": name, "bits": score.bits_per_symbol, "of": kind}
            if bounds is not None:
                found["95 %"] = [bounds.low / np.log(2), bounds.high / np.log(2)]
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
