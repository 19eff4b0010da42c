"""What recordings are like, read as they are: before they are mixed, resampled and quantised."""

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from seqkit.data.codecs import Linear, MuLaw
from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames, Wave
from seqkit.data.sound.reader import Reader
from seqkit.doctor.levels import Levels

_FULL_SCALE = 32767 / 32768  # as far as 16 bits reach
_LEVELS = 256
_QUANTISED = 1 << 22  # samples, about, of which the quantisers' noise is measured


@dataclass
class SoundFacts:
    """Recordings in numbers.

    seconds: of each file.
    rates, channels: how many files have each.
    clipped: samples at full scale beside another one there, of all channels.
    empty_channels: channels without a sound in a file that has others.
    silent: files in which nothing is heard.
    levels: of the mix of each file's channels, or of the channel that is read.
    snr: of quantising that mix with 256 levels, in decibels, by codec.
    quantised: how many samples that was measured with.
    """

    seconds: list[float] = field(default_factory=list)
    rates: Counter[int] = field(default_factory=Counter)
    channels: Counter[int] = field(default_factory=Counter)
    samples: int = 0
    clipped: int = 0
    empty_channels: int = 0
    silent: list[Path] = field(default_factory=list)
    levels: Levels = field(default_factory=Levels)
    snr: dict[str, float | None] = field(default_factory=dict)
    quantised: int = 0

    @property
    def clipped_share(self) -> float:
        """Of all samples of all channels."""
        return self.clipped / self.samples if self.samples else 0.0


def facts(
    files: Sequence[Path], channel: str, gain: float, watch: Callable[[int], None]
) -> SoundFacts:
    """Read all files; what cannot be read is left out.

    Args:
        files: of sound.
        channel: what is read of them, see `Reader.blocks`.
        gain: of the quantisers.
        watch: told how many files were read.
    """
    found, noise = SoundFacts(), _Noise(gain)
    sizes = sum(file.stat().st_size for file in files)
    every = max(1, sizes // 2 // _QUANTISED)  # as if it were 16 bits and one channel
    for number, file in enumerate(files, 1):
        with contextlib.suppress(BadFileError):
            _read(file, channel, found, noise, every)
        watch(number)
    found.snr, found.quantised = noise.snr(), noise.samples
    return found


def _read(file: Path, channel: str, found: SoundFacts, noise: "_Noise", every: int) -> None:
    """Take one file in, or nothing of it. Raises BadFileError."""
    reader = Reader(file)
    reader.require_channel(channel)
    levels, own_noise = Levels(), _Noise(noise.gain)
    count = 0
    clipped, loudest = 0, np.zeros(reader.channels, np.float32)
    for number, frames in enumerate(reader.all_channels()):
        mono = _mono(frames, channel)
        levels.add(mono, reader.sample_rate)
        count += len(frames)
        clipped += _clipped(frames)
        loudest = np.maximum(loudest, np.ptp(frames, axis=0))
        if number % every == 0:
            own_noise.add(mono)
    found.levels.include(levels)
    noise.include(own_noise)
    found.seconds.append(count / reader.sample_rate)
    found.rates[reader.sample_rate] += 1
    found.channels[reader.channels] += 1
    found.samples += count * reader.channels
    found.clipped += clipped
    if levels.swing == 0:
        found.silent.append(file)
    if loudest.any():
        found.empty_channels += int((loudest == 0).sum())


def _mono(frames: Frames, channel: str) -> Wave:
    return frames.mean(1) if channel == "mix" else frames[:, int(channel)].copy()


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


class _Noise:
    """The signal, and what quantisers add to it."""

    def __init__(self, gain: float) -> None:
        self.gain = gain
        self._codecs = {kind.name: kind(_LEVELS, 1, gain) for kind in (MuLaw, Linear)}
        self._signal = 0.0
        self._noise = dict.fromkeys(self._codecs, 0.0)
        self.samples = 0

    def add(self, wave: Wave) -> None:
        self.samples += wave.size
        self._signal += float(np.square(wave, dtype=np.float64).sum())
        for name, codec in self._codecs.items():
            error = codec.decode(codec.encode(wave)) - wave
            self._noise[name] += float(np.square(error, dtype=np.float64).sum())

    def include(self, other: "_Noise") -> None:
        """Take in all that was measured of other waves with the same gain."""
        self.samples += other.samples
        self._signal += other._signal
        for name, noise in other._noise.items():
            self._noise[name] += noise

    def snr(self) -> dict[str, float | None]:
        """Decibels by codec; None without signal or noise."""
        return {
            name: 10 * float(np.log10(self._signal / noise)) if self._signal and noise else None
            for name, noise in self._noise.items()
        }
