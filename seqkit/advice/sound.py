"""What recordings are like: their files as they are, the sound as a model hears it; its faults."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seqkit.advice.faults import Fault, told
from seqkit.data.files import BadFileError
from seqkit.data.sound import Wave
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.reader import SoundReader
from seqkit.foundation.wording import duration

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


def clipped_share(files: Sequence[Path], watch: Callable[[int], None]) -> float:
    """The share of samples at full scale in files, each of which is read as far as it can be.

    `watch` is told how many were.
    """
    clipped, samples = 0, 0
    for number, file in enumerate(files, 1):
        with contextlib.suppress(BadFileError):
            for frames in SoundReader(file).all_channels():
                samples += frames.size
                clipped += int((np.abs(frames) >= _FULL_SCALE).sum())
        watch(number)
    return clipped / max(samples, 1)


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
    return faults(levels_before_gain(sound), sound, 0.0)


def faults(levels: Levels, sound: SoundPart, clipped: float) -> list[Fault]:
    """The faults of sound with these levels, and such a share of clipped samples, worst first."""
    seconds = len(sound.part) / sound.codec.symbol_rate
    if levels.swing == 0:
        constant = f"the sound is a constant, {levels.offset:.3g}"
        return [Fault(f"{constant}: there is nothing to learn from it")]
    loudest, left = levels.swing * sound.codec.gain, duration(seconds * (1 - levels.silence))
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
            clipped > _CLIPPED,
            f"{clipped:.1%} of the samples are clipped: record it again at a lower level, or the "
            "model learns the distortion, too",
        ),
    )
