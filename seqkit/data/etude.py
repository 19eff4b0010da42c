"""An étude for one plucked string after the other, composed and rendered here.

The strings follow Karplus and Strong ("Digital synthesis of plucked-string and drum timbres",
1983): a burst of noise goes round a delay line and is smoothed a little at every turn.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seqkit.data.datasets import Folders, Located
from seqkit.data.sound.writer import whole_wav
from seqkit.foundation import disk
from seqkit.symbols import Floats, uniforms

SECONDS = 160.0
SCALE = (220.0, 246.94, 277.18, 329.63, 369.99, 440.0)
"""Hertz: the pentatonic scale on A, equally tempered."""

_VERSION = 1  # of the music: a change of it changes the file's name
_BEAT = 0.25  # seconds
_RING = 2.0  # seconds in which a string's loop loses 60 dB
_LEVEL = 0.6  # of the loudest sample
_HISS = 0.01  # amplitude of the noise that a recording has
_STEPS = (-2, -1, -1, 1, 1, 2)  # along the scale, from note to note


@dataclass(frozen=True)
class Etude:
    """The étude at a rate in hertz, as a data set; the rest is as in `pluck`."""

    name: str
    sample_rate: int
    pick: int = 3
    noise: int = 1

    def locate(self, folders: Folders) -> Located:
        """The étude as a WAV in the cache."""
        folders.notice(
            f"no data.path: a built-in étude of {SECONDS:g} s is read; data.path=FILE_OR_FOLDER "
            "reads recordings of yours"
        )
        path = folders.cache / "made" / f"{self.name}_{_VERSION}.wav"
        if not path.exists():
            wave = render(compose(SECONDS), self.sample_rate, self.pick, self.noise)
            write(path, wave, self.sample_rate)
        return Located(path, self.name)


ETUDE = Etude("etude", 16_000)
ETUDE_44K = Etude("etude_44k", 44_100, pick=28, noise=12)
"""For `recipe=my_sound`: all that can be heard, with a soft pick, and draws by which no string's
harmonics are louder than its note."""


def compose(seconds: float) -> list[tuple[int, int]]:
    """Notes as (place on the scale, beats): phrases of a random walk, each played twice."""
    beats = round(seconds / _BEAT)
    draws = iter(uniforms(0, 0, 0, 4 * beats).tolist())
    notes: list[tuple[int, int]] = []
    place, written = 2, 0
    while written < beats:
        phrase = []
        left = 8
        while left:
            length = min(left, 2 if next(draws) < 0.5 else 1)
            step = _STEPS[int(next(draws) * len(_STEPS))]
            place = place + step if 0 <= place + step < len(SCALE) else place - step
            phrase.append((place, length))
            left -= length
        notes += phrase * 2
        written += 16
    return notes


def render(notes: list[tuple[int, int]], sample_rate: int, pick: int = 3, noise: int = 1) -> Floats:
    """The wave (N,) of a melody; a string is damped when the next one is plucked.

    `pick` and `noise` are as in `pluck`.

    Without the hiss every sample would follow from those before it, and a model that learns this
    has not learnt to find back to the tone from samples that it drew itself.
    """
    pieces = [
        pluck(SCALE[place], round(beats * _BEAT * sample_rate), sample_rate, pick, noise)
        for place, beats in notes
    ]
    melody = np.concatenate(pieces)
    return melody + _HISS * (2 * uniforms(2, 0, 0, melody.size) - 1)


def pluck(hertz: float, samples: int, sample_rate: int, pick: int = 3, noise: int = 1) -> Floats:
    """One string (samples,), faded out in its last hundredth of a second.

    `pick` is how many samples of the burst are smoothed into one, `noise` the seed of its draws.

    y[t] = g * ((1-s)/2 y[t-n] + 1/2 y[t-n-1] + s/2 y[t-n-2]): the smoothing delays by half a
    sample and linear interpolation by s, so that n + s + 1/2 samples are one period.
    """
    period = sample_rate / hertz
    n = int(period - 0.5)
    s = period - 0.5 - n
    turn = 10 ** (-3 * period / (_RING * sample_rate))
    # The same burst for every pluck of a string, without its sharpest edges.
    drawn = 2 * uniforms(noise, n, 0, n + 2) - 1
    burst: Floats = sum((np.roll(drawn, shift) for shift in range(-1, pick - 1)), 0 * drawn) / pick
    burst -= burst.mean()
    y = np.zeros(n + 2 + samples)
    y[: n + 2] = burst / np.abs(burst).max()
    for begin in range(n + 2, len(y), n):
        end = min(begin + n, len(y))
        past = y[begin - n - 2 : end - n]
        y[begin:end] = turn * ((1 - s) / 2 * past[2:] + past[1:-1] / 2 + s / 2 * past[:-2])
    # A constant would ring longest; the mean of a period is taken away, which leaves the tone.
    tone = y[n + 2 :] - np.convolve(y, np.full(n, 1 / n))[n + 2 : n + 2 + samples]
    fade = min(samples, sample_rate // 100)
    tone[samples - fade :] *= np.linspace(1, 0, fade)
    return np.asarray(tone * (_LEVEL / np.abs(tone).max()))


def write(path: Path, samples: Floats, sample_rate: int) -> None:
    """A mono 16-bit WAV, whole or absent."""
    disk.write(path, whole_wav(samples * 32767 / 32768, sample_rate))  # which clips no sample of 1
