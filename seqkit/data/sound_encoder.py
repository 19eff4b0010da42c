"""Recordings become symbols: read, resampled and quantised in blocks."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs
from seqkit.data.codecs import Quantiser
from seqkit.data.findings import Findings
from seqkit.data.shards.plan import FileSlice, Watch
from seqkit.data.sound import Frames
from seqkit.data.sound.reader import SoundReader
from seqkit.foundation.disk import OutputFile

SHORTEST = 0.02
"""Seconds; a clip below holds nothing to learn from."""
_RMS = 0.1  # of the whole data set under data.gain=rms, 20 dB below full scale
_SILENT = 2.0**-15  # peak of a clip that holds nothing but the last bit of 16
_ROOM = 1 << 26  # bytes of samples that are kept in memory: 35 minutes at 8 kHz
_FRAMES = 1 << 16  # read at a time; with those of a training it takes twice as long


@dataclass
class Loudness:
    """Of all samples that were measured: the peak, the sum of squares, and how many they are."""

    peak: float = 0.0
    square: float = 0.0
    count: int = 0

    def include(self, other: "Loudness") -> None:
        """Take in what was measured of others."""
        self.peak = max(self.peak, other.peak)
        self.square += other.square
        self.count += other.count

    @property
    def silent(self) -> bool:
        """Whether nothing but the last bit of 16 was found."""
        return self.peak < _SILENT

    def gain(self, kind: str) -> float:
        """The factor that `data.gain` asks for."""
        return 1 / self.peak if kind == "peak" else _RMS / math.sqrt(self.square / self.count)


class Decoded:
    """The samples of files that were decoded to measure them, until they are encoded.

    They stay in memory while there is room; the others are decoded again.
    """

    def __init__(self) -> None:
        """There is nothing yet."""
        self._files: dict[Path, list[Frames]] = {}
        self._room = _ROOM

    def __getstate__(self) -> dict[str, object]:
        """To other processes goes nothing, and no room: none would take what it kept."""
        return {"_files": {}, "_room": 0}

    def keep(self, file: Path, blocks: Iterator[Frames]) -> Iterator[Frames]:
        """Hand on the blocks of a file, and keep them if it can be read and all of them fit."""
        kept, size = list[Frames](), 0
        for block in blocks:
            size += block.nbytes
            if size <= self._room:
                kept.append(block)
            else:
                kept.clear()
            yield block
        if size <= self._room:
            self._room -= size
            self._files[file] = kept

    def take(self, file: Path) -> list[Frames] | None:
        """The blocks of a file, which are not kept any longer; None if they were not."""
        return self._files.pop(file, None)


def measure(file: Path, rate: int, config: DataConfig, decoded: Decoded, count: Watch) -> Loudness:
    """How loud a recording is at a sample rate; its samples are kept for `encode_sound`.

    Raises:
        BadFileError: it cannot be read.
    """
    loudness = Loudness()
    blocks = _frames(SoundReader(file), rate, config.channels, config, count)
    for frames in decoded.keep(file, blocks):
        square = float(np.square(frames, dtype=np.float64).sum())
        peak = float(np.abs(frames).max(initial=0))
        loudness.include(Loudness(peak, square, frames.size))
    return loudness


def encode_sound(
    span: FileSlice,
    codec: Quantiser,
    config: DataConfig,
    decoded: Decoded,
    stream: OutputFile,
    count: Watch,
) -> tuple[list[int], Findings]:
    """Write the symbols of a recording; those of one without sound are to be cut off again.

    `decoded` has its samples if they were measured before, at the codec's rate.

    Returns:
        How many symbols it has, in a list that is empty if nothing is to be learnt from it; and
        what was found.

    Raises:
        BadFileError: it cannot be read; some of it may be written.
    """
    recording, rate, channels = SoundReader(span.file), codec.sample_rate, codec.channels
    findings = Findings(converted=_conversions(recording, rate, channels, config))
    size, peak = 0, 0.0
    known = decoded.take(span.file)
    if known is not None:
        count(span.size)
    for frames in known or _frames(recording, rate, channels, config, count):
        with codecs.failures(type(codec), "encode"):
            symbols = codec.encode(frames)
        stream.write(symbols.tobytes())
        size += symbols.size
        magnitude = np.abs(frames)
        peak = max(peak, float(magnitude.max(initial=0)))
        findings.clipped += int(np.count_nonzero(magnitude * codec.gain > 1))
        findings.signal += float(np.square(frames, dtype=np.float64).sum())
        error = codec.frames(symbols) - frames
        findings.noise += float(np.square(error, dtype=np.float64).sum())
    why = ""
    if size < SHORTEST * codec.symbol_rate:
        why = f"shorter than {SHORTEST * 1000:g} ms"
    elif peak < _SILENT:
        why = "silent"
    if why:
        return [], Findings(left_out={span.name: why}, converted=findings.converted)
    return [size], findings


def _frames(
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
