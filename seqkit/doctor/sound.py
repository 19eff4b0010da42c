"""What recordings are like, file by file before they are mixed and quantised; what is wrong."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.data.codecs import Linear, MuLaw, Quantiser
from seqkit.data.corpus import Corpus
from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames, Wave
from seqkit.data.sound.reader import Reader
from seqkit.doctor.faults import LEAST_SOUND, Fault
from seqkit.doctor.levels import Levels, decibels
from seqkit.foundation.wording import counted, duration

_FULL_SCALE = 32767 / 32768  # as far as 16 bits reach
_LEVELS = 256
_QUANTISED = 1 << 22  # samples, about, of which the quantisers' noise is measured
_QUIET = 0.03  # of full scale: the 256 levels of mu-law come to 95 within it
_SILENCE = 0.5
_OFFSET = 0.05  # of the swing
_CLIPPED = 0.001
_CLOSER = 3.0  # decibels, from which another quantiser is worth a word
_NAMED = 3  # files
_BLOCK = 1 << 16  # samples read at a time
_MOST = 1 << 24  # samples that are read before a training, which takes a third of a second


@dataclass
class SoundFacts:
    """Recordings in numbers.

    seconds: of each file.
    rates, channels: how many files have each.
    samples: of all channels.
    clipped: how many of them are at full scale beside another one there.
    empty_channels: channels without a sound in a file that has others.
    silent: files in which nothing is heard.
    levels: of the mix of each file's channels, or of the channel that is read.
    signal, noise: the energy of that mix, and of what 256 levels add to it, by codec.
    quantised: of how many samples.
    """

    seconds: list[float] = field(default_factory=list)
    rates: Counter[int] = field(default_factory=Counter)
    channels: Counter[int] = field(default_factory=Counter)
    samples: int = 0
    clipped: int = 0
    empty_channels: int = 0
    silent: list[Path] = field(default_factory=list)
    levels: Levels = field(default_factory=Levels)
    signal: float = 0.0
    noise: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    quantised: int = 0

    @property
    def clipped_share(self) -> float:
        """Of all samples of all channels."""
        return self.clipped / self.samples if self.samples else 0.0

    def snr(self, codec: str) -> float | None:
        """Of quantising with 256 levels, in decibels; None without signal or noise."""
        noise = self.noise[codec]
        return 10 * float(np.log10(self.signal / noise)) if self.signal and noise else None

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
            "snr_of_256_levels_db": {
                **{name: self.snr(name) for name in ("mu_law", "linear")},
                "sample": self.quantised,
            },
        }


def facts(
    files: Sequence[Path], channel: str, gain: float, watch: Callable[[int], None]
) -> SoundFacts:
    """Read all files, each as far as it can be read.

    Args:
        files: of sound.
        channel: what is read of them, see `Reader.blocks`.
        gain: of the quantisers.
        watch: told how many files were read.
    """
    found, codecs = SoundFacts(), (MuLaw(_LEVELS, 1, gain), Linear(_LEVELS, 1, gain))
    sizes = sum(file.stat().st_size for file in files)
    every = max(1, sizes // 2 // _QUANTISED)  # as if it were 16 bits and one channel
    for number, file in enumerate(files, 1):
        with contextlib.suppress(BadFileError):
            _read(Reader(file), channel, codecs, every, found)
        watch(number)
    return found


def _read(
    reader: Reader, channel: str, codecs: Sequence[Quantiser], every: int, found: SoundFacts
) -> None:
    """Take one file in. Raises BadFileError."""
    reader.require_channel(channel)
    levels, count, loudest = Levels(), 0, np.zeros(reader.channels, np.float32)
    for number, frames in enumerate(reader.all_channels()):
        mono: Wave = frames.mean(1) if channel == "mix" else frames[:, int(channel)].copy()
        levels.add(mono, reader.sample_rate)
        count += len(frames)
        found.clipped += _clipped(frames)
        loudest = np.maximum(loudest, np.ptp(frames, axis=0))
        if number % every == 0:
            found.quantised += mono.size
            found.signal += float(np.square(mono, dtype=np.float64).sum())
            for codec in codecs:
                error = codec.decode(codec.encode(mono)) - mono
                found.noise[codec.name] += float(np.square(error, dtype=np.float64).sum())
    found.levels.include(levels)
    found.seconds.append(count / reader.sample_rate)
    found.rates[reader.sample_rate] += 1
    found.channels[reader.channels] += 1
    found.samples += count * reader.channels
    if levels.swing == 0:
        found.silent.append(reader.path)
    if loudest.any():
        found.empty_channels += int((loudest == 0).sum())


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


def heard(corpus: Corpus, codec: Quantiser) -> Levels:
    """The levels of a corpus before the gain, without what the quantiser adds to an offset.

    Of more than 16.8 million symbols some blocks are read that lie evenly among them.
    """
    levels, symbols = Levels(), corpus.whole.symbols
    step = _BLOCK * max(1, -(-len(symbols) // _MOST))
    for begin in range(0, len(symbols), step):
        wave = codec.decode(symbols[begin : begin + _BLOCK]) - np.float32(codec.silence)
        levels.add(wave, codec.sample_rate)
    return levels


def faults_of(corpus: Corpus) -> list[Fault]:
    """The faults of the sound as a model will hear it, the worst first; none of text."""
    codec = corpus.codec
    if codec.kind != "audio":
        return []
    levels = heard(corpus, codec)
    return [*faults(levels, len(corpus.whole) / codec.symbol_rate, codec.gain)]


def faults(
    levels: Levels, seconds: float, gain: float = 1.0, clipped: float = 0.0
) -> Iterator[Fault]:
    """The faults of so many seconds of sound, the worst first.

    `gain` is what the quantiser multiplies it by, `clipped` the share of samples at full scale.
    """
    if levels.swing == 0:
        yield Fault(
            f"the sound is a constant, {levels.offset:.3g}: there is nothing to learn from it"
        )
        return
    if seconds < LEAST_SOUND:
        yield Fault(
            f"the sound is short, {seconds:.1f} s: {LEAST_SOUND:g} s is the least that makes "
            "anything like it, and a minute is better"
        )
    if levels.swing * gain < _QUIET:
        yield Fault(
            f"the sound is quiet, {decibels(levels.swing * gain):.0f} dB of full scale, where the "
            "quantiser has few levels: give data.gain=peak",
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
    if clipped > _CLIPPED:
        yield Fault(
            f"{clipped:.1%} of the samples are clipped: record it again at a lower level, or the "
            "model learns the distortion, too"
        )


def file_faults(found: SoundFacts, codec: Quantiser) -> Iterator[Fault]:
    """What is wrong with the files, beside how they sound when they are mixed."""
    if count := found.empty_channels:
        yield Fault(
            f"{count} {'channel holds' if count == 1 else 'channels hold'} no sound, which makes "
            "the mix quieter: data.channel=NUMBER reads one of the others"
        )
    if found.silent:
        yield Fault(
            f"{len(found.silent)} of {counted(len(found.seconds), 'file')} left out, since nothing "
            f"is heard in them, such as {', '.join(map(str, found.silent[:_NAMED]))}"
        )
    if len(found.rates) > 1:
        rates = ", ".join(f"{rate} Hz ({count})" for rate, count in found.rates.most_common())
        yield Fault(f"the files have different rates, {rates}: all become {codec.sample_rate} Hz")
    mu_law, linear = found.snr("mu_law") or 0.0, found.snr("linear") or 0.0
    if (codec.name, codec.levels) == ("mu_law", _LEVELS) and linear > mu_law + _CLOSER:
        yield Fault(
            f"256 linear levels lie closer to this sound ({linear:.1f} dB) than those of mu-law "
            f"({mu_law:.1f} dB): give data.codec=linear",
            {"codec": "linear"},
        )
