"""What the distances of sounds do not hear: recordings, changed in many ways, against themselves.

    python benchmarks/fooled.py guitar.wav speech.wav …

prints the distances of every change (medians over the recordings), how often it still "sounds like
the recording" (in pieces of five seconds), and which distances say no: a table of
docs/lab/measures.md.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seqkit.data.codecs import MuLaw
from seqkit.data.sound import Wave, resample
from seqkit.data.sound.reader import read_whole
from seqkit.evaluation.likeness import Distances
from seqkit.evaluation.recording import Recording

Change = Callable[[Wave, int], Wave]
"""Of a wave (N,) at a rate in hertz."""


def shuffled(seconds: float) -> Change:
    """Pieces of this length, in a random order."""

    def change(wave: Wave, rate: int) -> Wave:
        size = round(seconds * rate)
        pieces = wave[: len(wave) // size * size].reshape(-1, size)
        return np.random.default_rng(1).permutation(pieces).reshape(-1)

    return change


def filtered(lowest: float, highest: float) -> Change:
    """Without the frequencies beyond these, in hertz."""

    def change(wave: Wave, rate: int) -> Wave:
        spectrum, hertz = np.fft.rfft(wave), np.fft.rfftfreq(len(wave), 1 / rate)
        spectrum[(hertz < lowest) | (hertz > highest)] = 0
        kept: Wave = np.fft.irfft(spectrum, len(wave)).astype(np.float32)
        return kept

    return change


def higher(cents: float) -> Change:
    """As a tape that runs faster."""
    return lambda wave, rate: resample(wave, rate, round(rate / 2 ** (cents / 1200)))


def hissing(decibels: float) -> Change:
    """With white noise, so many decibels beside the wave's power."""

    def change(wave: Wave, rate: int) -> Wave:
        level = np.sqrt(np.square(wave).mean()) * 10 ** (decibels / 20)
        return wave + np.random.default_rng(2).normal(0, level, len(wave)).astype(np.float32)

    return change


def respectral(turn: Callable[[Tensor], Tensor], above: float = 0, size: int = 1024) -> Change:
    """With another short-time spectrum (bins, frames) above a frequency in hertz."""

    def change(wave: Wave, rate: int) -> Wave:
        window = torch.hann_window(size)
        spectrum = torch.stft(
            torch.from_numpy(wave), size, size // 4, window=window, return_complex=True
        )
        first = round(above * size / rate)
        spectrum[first:] = turn(spectrum[first:])
        return torch.istft(spectrum, size, size // 4, window=window, length=len(wave)).numpy()

    return change


def random_phases(spectrum: Tensor) -> Tensor:
    """Noise that is as loud in every bin and frame."""
    angles = 2 * torch.pi * torch.rand(spectrum.shape, generator=torch.manual_seed(0))
    return torch.polar(spectrum.abs(), angles)


def steady(spectrum: Tensor) -> Tensor:
    """Noise that is as loud in every bin, and always."""
    drawn = torch.randn(*spectrum.shape, 2, generator=torch.manual_seed(0))
    power = spectrum.abs().square().mean(1, keepdim=True)
    return torch.view_as_complex(drawn) * (power / 2).sqrt()


def compressed(wave: Wave, rate: int) -> Wave:
    """4:1 above -30 dB, by the level of 20 ms, and then as loud as before."""
    frame = np.ones(rate // 50) / (rate // 50)
    level = 10 * np.log10(np.convolve(np.square(wave), frame, "same").clip(0) + 1e-10)
    changed = wave * 10 ** (np.minimum(0, -30 - level) * 0.75 / 20)
    loud = np.sqrt(np.square(wave).mean() / np.square(changed).mean())
    louder: Wave = (changed * loud).astype(np.float32)
    return louder


def with_echo(wave: Wave, rate: int) -> Wave:
    """6 dB below the sound: noise that falls by 52 dB a second."""
    count = round(0.8 * rate)
    echo = np.random.default_rng(5).normal(0, 1, count) * np.exp(-6 * np.arange(count) / rate)
    echo *= 0.5 / np.sqrt(np.square(echo).sum())
    size = len(wave) + count
    both = np.fft.rfft(wave, size) * (1 + np.fft.rfft(echo, size))
    echoing: Wave = np.fft.irfft(both, size)[: len(wave)].astype(np.float32)
    return echoing


def both_halves(wave: Wave, rate: int) -> Wave:
    """The first half and the second at once."""
    half = len(wave) // 2
    return (wave[:half] + wave[half : 2 * half]) / np.float32(np.sqrt(2))


def clipped(wave: Wave, rate: int) -> Wave:
    """At a quarter of its peak."""
    most = np.abs(wave).max() / 4
    return wave.clip(-most, most)


def in_eight_bits(wave: Wave, rate: int) -> Wave:
    """As a model at 8 kHz reads it without emphasis, at the rate of before."""
    codec = MuLaw(256, 8000, float(1 / np.abs(wave).max()))
    return resample(codec.decode(codec.encode(resample(wave, rate, 8000))), 8000, rate)


CHANGES: dict[str, Change] = {
    "backwards": lambda wave, rate: wave[::-1].copy(),
    "pieces of 1 s in a random order": shuffled(1),
    "pieces of 0.1 s in a random order": shuffled(0.1),
    "five seconds again and again": lambda wave, rate: np.tile(wave[-5 * rate :], 4),
    "its two halves at once": both_halves,
    "20 cents higher": higher(20),
    "a semitone higher": higher(100),
    "half as loud": lambda wave, rate: wave / np.float32(2),
    "compressed 4:1": compressed,
    "clipped at a quarter": clipped,
    "with an echo": with_echo,
    "low-pass at 8 kHz": filtered(0, 8000),
    "low-pass at 4 kHz": filtered(0, 4000),
    "high-pass at 200 Hz": filtered(200, 1e9),
    "at 8 kHz in 8 bits, no emphasis": in_eight_bits,
    "hiss at -50 dB": hissing(-50),
    "hiss at -40 dB": hissing(-40),
    "hiss at -30 dB": hissing(-30),
    "steady noise for all above 4 kHz": respectral(steady, 4000),
    "random phases above 4 kHz": respectral(random_phases, 4000),
    "random phases above 1 kHz": respectral(random_phases, 1000),
    "random phases, windows of 1024": respectral(random_phases),
    "random phases, windows of 8192": respectral(random_phases, size=8192),
}


def table(files: Sequence[Path]) -> list[str]:
    """A row for each change. Of recordings of ten seconds or more."""
    waves = [read_whole(file) for file in files]
    recordings = [Recording.of(*sound) for sound in waves]
    rows = []
    for name, change in CHANGES.items():
        found, like, apart = list[Distances](), 0, dict.fromkeys(Distances._fields, 0)
        for (wave, rate), recording in zip(waves, recordings, strict=True):
            changed = change(wave, rate)
            found.append(recording.measure(changed, rate))
            said = recording.judged(changed, rate)
            assert said.distances is not None
            like += said.is_like is True
            limits = zip(apart, said.distances, recording.limits, strict=True)
            for which in [which for which, far, most in limits if far > most]:
                apart[which] += 1
        middle = " ".join(f"{value:.2f}" for value in np.median(found, 0))
        heard = ", ".join(f"{which} {count}" for which, count in apart.items() if count)
        rows.append(f"| {name} | {middle} | {like} of {len(files)} | {heard} |")
    return rows


def main(words: Sequence[str]) -> None:
    """Print the table."""
    print(f"| change | {' '.join(Distances._fields)} | like | not by |\n|---|---|---|---|")
    print("\n".join(table([*map(Path, words)])))


if __name__ == "__main__":
    main(sys.argv[1:])
