"""What recordings are like, as a model hears them, and what is wrong with them."""

from dataclasses import dataclass

import numpy as np

from seqkit.advice.faults import Fault, told
from seqkit.config import DataConfig
from seqkit.data.codecs import Quantiser, SoundCodec, Spectral
from seqkit.data.corpus import Part
from seqkit.data.sound import Wave
from seqkit.data.sound.part import wave_without_silence, without_silence
from seqkit.foundation.wording import duration

_QUIET = 0.03  # of full scale: the 256 levels of mu-law come to 95 within it
_LEAST = 10.0  # seconds from which a model makes anything like it
_SILENCE = 0.5
_OFFSET = 0.05  # of the swing
_BLOCK = 1 << 16  # samples read at a time
_LOWEST = -120.0  # decibels; what is quieter counts as this
_TRIM = 40  # decibels, of `data.trim_silence`
_MOST = 1 << 22  # samples that are read before a training, for the memory and the time


def decibels(amplitude: float) -> float:
    """An amplitude in decibels of full scale, -120 at the lowest."""
    return max(_LOWEST, 20 * float(np.log10(max(amplitude, 1e-9))))


@dataclass(frozen=True)
class Levels:
    """Statistics of a wave.

    silence: the share that `data.trim_silence=40` leaves out, the offset taken away.
    peak: the largest distance from 0.
    swing: half the distance from the lowest to the highest sample, which no offset changes.
    offset: the mean, the constant (DC) on which the sound rides.

    Magnitudes tell of silence alone: the others are None then.
    """

    silence: float
    peak: float | None = None
    swing: float | None = None
    offset: float | None = None


def levels_of(wave: Wave, sample_rate: int) -> Levels:
    """The levels of samples (N,), of which there are `sample_rate` in a second."""
    offset = float(wave.mean(dtype=np.float64))
    begins = np.zeros(1, np.int64)
    loud = wave_without_silence(wave - np.float32(offset), begins, sample_rate, _TRIM)
    return Levels(
        silence=1 - len(loud) / len(wave),
        peak=float(np.abs(wave).max()),
        swing=float(np.ptp(wave)) / 2,
        offset=offset,
    )


def levels_before_gain(part: Part, codec: SoundCodec) -> Levels:
    """The levels of a corpus before the gain, without what a quantiser adds to an offset.

    Of more than 4.2 million samples some blocks are read that lie evenly among them.
    """
    size = codec.symbols_of(_BLOCK)
    begins = range(0, len(part), size * -(-codec.samples_of(len(part)) // _MOST))
    blocks = [part.symbols[begin : begin + size] for begin in begins]
    if isinstance(codec, Spectral):  # to find phases takes longer than all else
        read = Part.of(np.concatenate(blocks), frame=codec.phases)
        return Levels(silence=1 - len(without_silence(read, codec, _TRIM)) / len(read))
    wave = np.concatenate([codec.decode(block) for block in blocks])
    silence = codec.silence if isinstance(codec, Quantiser) else 0.0
    return levels_of(wave - np.float32(silence), codec.sample_rate)


def faults_of(
    part: Part, codec: SoundCodec, data: DataConfig, levels: Levels | None = None
) -> list[Fault]:
    """The faults of the sound as a model will hear it, read by these keys, the worst first.

    `levels` are those that it has.
    """
    levels = levels or levels_before_gain(part, codec)
    seconds = len(part) / codec.symbol_rate
    swing, offset = levels.swing, levels.offset or 0.0
    if swing == 0:
        constant = f"the sound is a constant, {offset:.3g}"
        return [Fault(f"{constant}: there is nothing to learn from it")]
    loudest, left = 1.0, duration(seconds * (1 - levels.silence))
    if swing is not None and isinstance(codec, Quantiser):
        loudest = swing * codec.gain
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
            levels.silence > _SILENCE and not data.trim_silence,
            f"{levels.silence:.0%} of the sound is silence, which the model will make, too: leave "
            f"it out with data.trim_silence={_TRIM}; {left} are left",
            {"trim_silence": float(_TRIM)},
        ),
        (
            swing is not None and abs(offset) > _OFFSET * swing,
            f"the sound has a constant offset (DC) of {offset:.3g}, beside a swing of "
            f"{swing or 0:.3g}: a high-pass filter at 20 Hz takes it out",
        ),
    )
