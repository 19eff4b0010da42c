"""Recordings become symbols: read, resampled and quantised in blocks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from seqkit.config import DataConfig, bands_of
from seqkit.data import codecs
from seqkit.data.codecs import Quantiser, filter_bank
from seqkit.data.codecs.channels import analysis
from seqkit.data.codecs.emphasis import CHOICES, emphasised
from seqkit.data.files import Findings, Sink, Watch
from seqkit.data.sound import Frames
from seqkit.data.sound.reader import SoundReader
from seqkit.symbols import Floats, Integers

SHORTEST = 0.02
"""Seconds; a clip below holds nothing to learn from."""
_RMS = 0.1  # of the whole data set under data.gain=rms, 20 dB below full scale
SILENT = 2.0**-15
"""The peak of a clip that holds nothing but the last bit of 16."""
_FRAMES = 1 << 16  # read at a time; with those of a training it takes twice as long
Sums = npt.NDArray[np.float64]


@dataclass
class Loudness:
    """Of all samples that were measured, with each emphasis: peak and sums; and their number.

    Of sound in bands it is that of the sound, then with each emphasis of each value of a frame, as
    if that had as many samples.

    peak, size, square: the largest size, the sum of sizes and that of squares, (A,).
    """

    peak: Sums
    size: Sums
    square: Sums
    count: int = 0

    @classmethod
    def of_nothing(cls, config: DataConfig, rate: int) -> Self:
        """That of no samples, for the emphases, of which the first is none, or for the bands."""
        bands, count = bands_of(config.bands, rate), len(emphases_of(config))
        columns = bands * config.channels
        return cls(*np.zeros((3, count if bands == 1 else 1 + columns * count)))

    def include(self, other: "Loudness") -> None:
        """Take in what was measured of others."""
        self.peak = np.maximum(self.peak, other.peak)
        self.size = self.size + other.size
        self.square = self.square + other.square
        self.count += other.count

    @property
    def silent(self) -> bool:
        """Whether nothing but the last bit of 16 was found."""
        return float(self.peak[0]) < SILENT

    def gains(self, kind: str) -> Sums:
        """The factors that `data.gain` asks for, (A,)."""
        if kind == "none":
            return np.ones_like(self.peak)
        return 1 / self.peak if kind == "peak" else _RMS / np.sqrt(self.square / self.count)


def share(file: Path, rate: int, config: DataConfig, count: Watch) -> Sums:
    """Of left and right in each band the sums of left², right² and left x right, (3, K).

    Raises:
        BadFileError: it cannot be read.
    """
    bands = bands_of(config.bands, rate)
    split, sums = filter_bank.splitter(bands, config.channels), np.zeros((3, bands))
    for frames in frames_of(SoundReader(file), rate, config.channels, config, count):
        left, right = split(frames).astype(np.float64).transpose(2, 0, 1)
        sums += [np.square(left).sum(0), np.square(right).sum(0), (left * right).sum(0)]
    return sums


def measure(
    file: Path, rate: int, config: DataConfig, turns: Floats | None, count: Watch
) -> Loudness:
    """How loud a recording is at a sample rate; `turns` are those of the quantiser that is to be.

    Raises:
        BadFileError: it cannot be read.
    """
    emphases, bands = emphases_of(config), bands_of(config.bands, rate)
    split = analysis(bands, config.channels, turns)
    loudness, columns = Loudness.of_nothing(config, rate), bands * config.channels
    times, before = np.full(len(loudness.peak), float(columns)), np.zeros((1, columns), np.float32)
    times[0] = 1
    for frames in frames_of(SoundReader(file), rate, config.channels, config, count):
        sums = []
        rows = split(frames)
        sounds = [emphasised(rows, share, before) if share else rows for share in emphases]
        if bands > 1:
            sounds = [frames, *(column for sound in sounds for column in sound.T)]
        for size in map(np.abs, sounds):
            square = np.square(size, dtype=np.float64).sum()
            sums.append((size.max(initial=0), size.sum(dtype=np.float64), square))
        peak, size, square = np.array(sums, np.float64).T
        loudness.include(Loudness(peak, times * size, times * square, frames.size))
        before = np.concatenate([before, rows])[-1:]
    return loudness


def emphases_of(config: DataConfig) -> Sequence[float]:
    """Those that are measured, of which the first is none."""
    return CHOICES if config.emphasis == "auto" else CHOICES[:1]


def encode_sound(
    name: str, file: Path, codec: Quantiser, config: DataConfig, stream: Sink, count: Watch
) -> tuple[Integers, Findings]:
    """Write the symbols of a recording; those of one without sound are to be cut off again.

    Returns:
        How many symbols it has, (1,), or (0,) if nothing is to be learnt from it. With them what
        was found in it, under its `name`.

    Raises:
        BadFileError: it cannot be read; some of it may be written.
    """
    recording, rate, channels = SoundReader(file), codec.sample_rate, codec.channels
    findings = Findings(converted=_conversions(recording, rate, channels, config))
    size, peak = 0, 0.0
    analyse, read = codec.analyser(), codec.reader()
    heard = np.zeros((codec.delay, channels), np.float32)  # what is not decoded yet
    for frames in codec.padded(frames_of(recording, rate, channels, config, count)):
        values = analyse(frames)
        with codecs.failures(type(codec), "encode"):
            symbols = codec.encoded(frames, values)
        stream.write(np.ascontiguousarray(symbols).data)
        size += symbols.size
        peak = max(peak, float(np.abs(frames).max(initial=0)))
        findings.clipped += int(np.count_nonzero(np.abs(codec.scaled(values)) > 1))
        findings.signal += float(np.square(frames, dtype=np.float64).sum())
        heard = np.concatenate([heard, frames])
        made = read(symbols)
        error = made - heard[: len(made)]
        heard = heard[len(made) :]
        findings.noise += float(np.square(error, dtype=np.float64).sum())
    why = ""
    if size < SHORTEST * codec.symbol_rate:
        why = f"shorter than {SHORTEST * 1000:g} ms"
    elif peak < SILENT:
        why = "silent"
    if why:
        return np.zeros(0, np.int64), Findings({name: why}, findings.converted)
    return np.array([size], np.int64), findings


def frames_of(
    recording: SoundReader, rate: int, channels: int, config: DataConfig, count: Watch
) -> Iterator[Frames]:
    """The samples (n, C) of a file, in blocks, whose share of its bytes is told as read."""
    size, whole = recording.path.stat().st_size, recording.promised * rate
    read = counted = 0
    for block in recording.resampled(rate, channels, config.channel, _FRAMES):
        yield block
        read += len(block) * recording.sample_rate
        now = size * min(read, whole) // max(whole, 1)
        count(now - counted)
        counted = now
    count(size - counted)  # of a file whose length no header says


def _conversions(
    recording: SoundReader, rate: int, channels: int, config: DataConfig
) -> Counter[str]:
    """In what a recording is brought to another form."""
    conversions = Counter[str]()
    if recording.sample_rate != rate:
        conversions[f"resampled from {recording.sample_rate} Hz to {rate} Hz"] += 1
    if recording.channels < channels:
        conversions["mono, read into both channels"] += 1
    if recording.channels > channels:
        how = "mixed from" if config.channel == "mix" else "read by one of"
        conversions[f"{how} {recording.channels} channels"] += 1
    return conversions
