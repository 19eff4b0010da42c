"""What recordings are like: their files as they are, the sound as a model hears it; its faults."""

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.advice.faults import Fault, told
from seqkit.data.codecs import Quantiser
from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames, Wave
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.reader import SoundReader
from seqkit.foundation.wording import counted, duration, first_of

_FULL_SCALE = 32767 / 32768  # as far as 16 bits reach
_QUIET = 0.03  # of full scale: the 256 levels of mu-law come to 95 within it
_LEAST = 10.0  # seconds from which a model makes anything like it
_SILENCE = 0.5
_OFFSET = 0.05  # of the swing
_CLIPPED = 0.001
_BLOCK = 1 << 16  # samples read at a time
_FRAMES = 50  # a second; each is silent or not
_LOWEST = -120.0  # decibels; what is quieter counts as this
_BELOW_PEAK = 50.0  # decibels below the loudest swing at which a frame is silent
_SILENT = -70.0  # decibels of full scale at which a frame is silent, whatever the rest is
_MOST = 1 << 23  # samples that are read before a training, for the memory and the time


@dataclass
class SoundFacts:
    """Files of sound in numbers.

    files: how many could be read.
    rates, channels: how many files have each.
    samples: of all channels.
    clipped: how many of them are at full scale beside another one there.
    empty_channels: channels without a sound in a file that has others.
    silent: files in which nothing is heard.
    """

    files: int = 0
    rates: Counter[int] = field(default_factory=Counter)
    channels: Counter[int] = field(default_factory=Counter)
    samples: int = 0
    clipped: int = 0
    empty_channels: int = 0
    silent: list[Path] = field(default_factory=list)

    @property
    def clipped_share(self) -> float:
        """Of all samples of all channels."""
        return self.clipped / max(self.samples, 1)

    def record(self) -> dict[str, Any]:
        """As `doctor` gives it."""
        return {
            "rates": {str(rate): files for rate, files in self.rates.most_common()},
            "channels": {str(count): files for count, files in self.channels.most_common()},
            "empty_channels": self.empty_channels,
            "silent": [str(file) for file in self.silent],
            "clipped": self.clipped_share,
        }


def facts(files: Sequence[Path], watch: Callable[[int], None]) -> SoundFacts:
    """Read all files, each as far as it can be read; `watch` is told how many were."""
    of_files = SoundFacts()
    for number, file in enumerate(files, 1):
        with contextlib.suppress(BadFileError):
            _read(SoundReader(file), of_files)
        watch(number)
    return of_files


def _read(reader: SoundReader, facts: SoundFacts) -> None:
    """Take one file in. Raises BadFileError."""
    swings = np.zeros(reader.channels, np.float32)
    for frames in reader.all_channels():
        facts.samples += frames.size
        facts.clipped += _clipped(frames)
        swings = np.maximum(swings, np.ptp(frames, axis=0))
    facts.files += 1
    facts.rates[reader.sample_rate] += 1
    facts.channels[reader.channels] += 1
    if swings.any():
        facts.empty_channels += int((swings == 0).sum())
    else:
        facts.silent.append(reader.path)


def _clipped(frames: Frames) -> int:
    """Samples at full scale that follow or precede another one there on the same side."""
    clipped = 0
    for full in (frames >= _FULL_SCALE, frames <= -_FULL_SCALE):
        if full.any():
            beside = np.zeros_like(full)
            beside[1:] |= full[:-1]
            beside[:-1] |= full[1:]
            clipped += int((full & beside).sum())
    return clipped


def decibels(amplitude: float) -> float:
    """An amplitude in decibels of full scale, -120 at the lowest."""
    return max(_LOWEST, 20 * float(np.log10(max(amplitude, 1e-9))))


@dataclass(frozen=True)
class Levels:
    """Statistics of a wave.

    peak: the largest distance from 0.
    swing: half the distance from the lowest to the highest sample, which no offset changes.
    offset: the mean, the constant (DC) on which the sound rides.
    silence: the share of silent frames of 20 ms, their own offset taken out.
    """

    peak: float
    swing: float
    offset: float
    silence: float


def levels_of(wave: Wave, sample_rate: int) -> Levels:
    """The levels of samples (N,), of which there are `sample_rate` in a second."""
    swing = float(np.ptp(wave)) / 2
    size = min(max(1, sample_rate // _FRAMES), len(wave))
    frames = wave[: len(wave) // size * size].reshape(-1, size)
    bound = max(_SILENT, decibels(swing) - _BELOW_PEAK)
    return Levels(
        peak=float(np.abs(wave).max()),
        swing=swing,
        offset=float(wave.mean(dtype=np.float64)),
        silence=float((frames.std(1) <= 10 ** (bound / 20)).mean()),
    )


def levels_before_gain(sound: SoundPart) -> Levels:
    """The levels of a corpus before the gain, without what the quantiser adds to an offset.

    Of more than 8.4 million symbols some blocks are read that lie evenly among them.
    """
    codec = sound.codec
    begins = range(0, len(sound), _BLOCK * -(-len(sound.part) // _MOST))
    wave = np.concatenate([sound[begin : begin + _BLOCK] for begin in begins])
    return levels_of(wave - np.float32(codec.silence), codec.sample_rate)


def faults_of(sound: SoundPart) -> list[Fault]:
    """The faults of the sound as a model will hear it, the worst first."""
    seconds = len(sound.part) / sound.codec.symbol_rate
    return faults(levels_before_gain(sound), sound.codec, seconds, SoundFacts())


def faults(levels: Levels, codec: Quantiser, seconds: float, files: SoundFacts) -> list[Fault]:
    """The faults of so many seconds of sound and of its files, the worst first."""
    if levels.swing == 0:
        constant = f"the sound is a constant, {levels.offset:.3g}"
        return [Fault(f"{constant}: there is nothing to learn from it")]
    loudest, left = levels.swing * codec.gain, duration(seconds * (1 - levels.silence))
    return told(
        (
            seconds < _LEAST,
            f"the sound is short, {seconds:.1f} s: {_LEAST:g} s is the least that makes anything "
            "like it, and a minute is better",
        ),
        (
            loudest < _QUIET,
            f"the sound is quiet, {decibels(loudest):.0f} dB of full scale, where the quantiser "
            "has few levels: give data.gain=peak",
            {"gain": "peak"},
        ),
        (
            levels.silence > _SILENCE,
            f"{levels.silence:.0%} of the sound is silence, which the model will make, too: cut it "
            f"out; {left} are left",
        ),
        (
            abs(levels.offset) > _OFFSET * levels.swing,
            f"the sound has a constant offset (DC) of {levels.offset:.3g}, beside a swing of "
            f"{levels.swing:.3g}: a high-pass filter at 20 Hz takes it out",
        ),
        (
            files.clipped_share > _CLIPPED,
            f"{files.clipped_share:.1%} of the samples are clipped: record it again at a lower "
            "level, or the model learns the distortion, too",
        ),
        (
            files.empty_channels,
            f"channels without sound: {files.empty_channels}, which make the mix quieter: "
            "data.channel=NUMBER reads one of the others",
        ),
        (
            files.silent,
            f"{len(files.silent)} of {counted(files.files, 'file')} left out, since nothing is "
            f"heard in them, such as {first_of(files.silent, 1)}",
        ),
    )
