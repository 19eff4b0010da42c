"""What recordings are like: their files as they are, the sound as a model hears it; its faults."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.advice.faults import Fault
from seqkit.data.codecs import Quantiser
from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames, Wave
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.reader import SoundReader
from seqkit.foundation.wording import counted, duration

_FULL_SCALE = 32767 / 32768  # as far as 16 bits reach
_LEVELS = 256
_QUIET = 0.03  # of full scale: the 256 levels of mu-law come to 95 within it
_LEAST = 10.0  # seconds from which a model makes anything like it
_SILENCE = 0.5
_OFFSET = 0.05  # of the swing
_CLIPPED = 0.001
_CLOSER = 3.0  # decibels, from which another quantiser is worth a word
_BLOCK = 1 << 16  # samples read at a time
_FRAMES = 50  # a second; each is silent or not
_LOWEST = -120.0  # decibels; what is quieter counts as this
_BELOW_PEAK = 50.0  # decibels below the loudest swing at which a frame is silent
_SILENT = -70.0  # decibels of full scale at which a frame is silent, whatever the rest is
_MOST = 1 << 23  # samples that are read before a training, for the memory and the time


@dataclass
class SoundFacts:
    """Files of sound in numbers.

    seconds: of each file.
    rates, channels: how many files have each.
    samples: of all channels.
    clipped: how many of them are at full scale beside another one there.
    empty_channels: channels without a sound in a file that has others.
    silent: files in which nothing is heard.
    """

    seconds: list[float] = field(default_factory=list)
    rates: Counter[int] = field(default_factory=Counter)
    channels: Counter[int] = field(default_factory=Counter)
    samples: int = 0
    clipped: int = 0
    empty_channels: int = 0
    silent: list[Path] = field(default_factory=list)

    @property
    def clipped_share(self) -> float:
        """Of all samples of all channels."""
        return self.clipped / self.samples if self.samples else 0.0

    def record(self) -> dict[str, Any]:
        """As `doctor` gives it."""
        return {
            "rates": {str(rate): files for rate, files in self.rates.most_common()},
            "channels": {str(count): files for count, files in self.channels.most_common()},
            "empty_channels": self.empty_channels,
            "silent": [str(file) for file in self.silent],
            "shortest": min(self.seconds, default=None),
            "longest": max(self.seconds, default=None),
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
    count, swings = 0, np.zeros(reader.channels, np.float32)
    for frames in reader.all_channels():
        count += len(frames)
        facts.clipped += _clipped(frames)
        swings = np.maximum(swings, np.ptp(frames, axis=0))
    facts.seconds.append(count / reader.sample_rate)
    facts.rates[reader.sample_rate] += 1
    facts.channels[reader.channels] += 1
    facts.samples += count * reader.channels
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
    power: the mean square.
    silence: the share of silent frames of 20 ms, their own offset taken out.
    """

    peak: float
    swing: float
    offset: float
    power: float
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
        power=float(np.square(wave).mean(dtype=np.float64)),
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
    return [*faults(levels_before_gain(sound), sound.codec, seconds)]


def faults(
    levels: Levels,
    codec: Quantiser,
    seconds: float,
    files: SoundFacts | None = None,
    snr: float | None = None,
) -> Iterator[Fault]:
    """The faults of so many seconds of sound, the worst first.

    With `files` those of its files, too; `snr` is that of the codec, in decibels, if it is known.
    """
    if levels.swing == 0:
        yield Fault(
            f"the sound is a constant, {levels.offset:.3g}: there is nothing to learn from it"
        )
        return
    if seconds < _LEAST:
        yield Fault(
            f"the sound is short, {seconds:.1f} s: {_LEAST:g} s is the least that makes "
            "anything like it, and a minute is better"
        )
    if (loudest := levels.swing * codec.gain) < _QUIET:
        yield Fault(
            f"the sound is quiet, {decibels(loudest):.0f} dB of full scale, where the quantiser "
            "has few levels: give data.gain=peak",
            {"gain": "peak"},
        )
    if levels.silence > _SILENCE:
        yield Fault(
            f"{levels.silence:.0%} of the sound is silence, which the model will make, too: "
            f"cut it out; {duration(seconds * (1 - levels.silence))} are left"
        )
    if abs(levels.offset) > _OFFSET * levels.swing:
        yield Fault(
            f"the sound has a constant offset (DC) of {levels.offset:.3g}, beside a swing of "
            f"{levels.swing:.3g}: a high-pass filter at 20 Hz takes it out"
        )
    if files:
        yield from _file_faults(files, codec)
    if (codec.name, codec.levels) != ("mu_law", _LEVELS) or not snr or not levels.power:
        return
    # The noise of linear levels is a twelfth of their step's square.
    linear = 10 * float(np.log10(levels.power * 12 * (_LEVELS / 2 * codec.gain) ** 2))
    if linear > snr + _CLOSER:
        yield Fault(
            f"256 linear levels lie closer to this sound ({linear:.1f} dB) than those of mu-law "
            f"({snr:.1f} dB): give data.codec=linear",
            {"codec": "linear"},
        )


def _file_faults(facts: SoundFacts, codec: Quantiser) -> Iterator[Fault]:
    if not facts.samples:
        yield Fault("no file can be read now: this is of their copy in the cache")
    if facts.clipped_share > _CLIPPED:
        yield Fault(
            f"{facts.clipped_share:.1%} of the samples are clipped: record it again at a lower "
            "level, or the model learns the distortion, too"
        )
    if count := facts.empty_channels:
        yield Fault(
            f"{count} {'channel holds' if count == 1 else 'channels hold'} no sound, which makes "
            "the mix quieter: data.channel=NUMBER reads one of the others"
        )
    if facts.silent:
        yield Fault(
            f"{len(facts.silent)} of {counted(len(facts.seconds), 'file')} left out, since nothing "
            f"is heard in them, such as {facts.silent[0]}"
        )
    if len(facts.rates) > 1:
        rates = ", ".join(f"{rate} Hz ({count})" for rate, count in facts.rates.most_common())
        yield Fault(f"the files have different rates, {rates}: all become {codec.sample_rate} Hz")
