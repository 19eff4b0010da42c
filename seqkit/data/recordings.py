"""Recordings become symbols: files are read, resampled and quantised in blocks, and reported on."""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.config import HIGHEST_RATE, DataConfig
from seqkit.data import codecs
from seqkit.data.bad_files import BadFileError, BadFiles
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus_cache import Encoded, Source
from seqkit.data.files import first_of
from seqkit.data.sound import Frames
from seqkit.data.sound.reader import FRAMES, Reader
from seqkit.data.sound.resample import resampled
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import DataError
from seqkit.foundation.wording import counted

_SHORTEST = 0.02  # seconds; a clip below holds nothing to learn from
_RMS = 0.1  # of the whole data set under data.gain=rms, 20 dB below full scale
_SILENT = 2.0**-15  # peak of a clip that holds nothing but the last bit of 16


def _rank(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()


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


@dataclass
class Recordings:
    """The files of a data set, and what was found in them while they were read.

    A folder's files stand in an order that depends on their names only and looks random, the data
    set's own validation and test part last. `block` frames are read at a time.
    """

    config: DataConfig
    source: Source
    block: int = FRAMES
    bad: BadFiles = field(init=False)
    left_out: dict[str, list[Path]] = field(default_factory=lambda: defaultdict(list))
    converted: Counter[str] = field(default_factory=Counter)
    clipped: int = 0
    signal: float = 0.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        self.bad = BadFiles(self.config.on_bad_file == "skip", several=len(self.source.files) > 1)

    def codec(
        self, kind: type[Quantiser], measured: Callable[[int], Loudness] | None = None
    ) -> Quantiser:
        """The quantiser that `config` asks for; the gain takes a pass over all files.

        `measured` makes this pass at a sample rate; by default it is made here, file by file.

        Raises:
            DataError: a file cannot be read, none holds sound, or their rate is too high.
        """
        rate = self.config.sample_rate or self._common_rate()
        if rate > HIGHEST_RATE:
            raise DataError(
                f"{next(iter(self.source.files.values()))}: a sample rate of {rate} Hz, and "
                f"{HIGHEST_RATE} is the highest that is learnt: give data.sample_rate=48000"
            )
        gain = 1.0
        if self.config.gain != "none":
            loudness = (measured or self._measured)(rate)
            if loudness.silent:
                raise DataError(self.nothing_left())
            gain = loudness.gain(self.config.gain)
        with codecs.failures(kind, "constructor"):
            config = self.config
            return kind.of(config.levels, rate, gain, config.channels, config.symbols_per_sample)

    def encode(self, codec: Quantiser, stream: OutputFile) -> Encoded:
        """Write the symbols of all files that can be used.

        Raises:
            DataError: a file cannot be read, or nothing is left.
        """
        starts: list[int] = []
        part_starts: dict[int, int] = {}
        written = 0
        for name in self.order():
            part_starts.setdefault(self.source.located.part_of(name), written)
            count = self.write(self.source.files[name], codec, stream)
            if count:
                starts.append(written)
                written += count
        if not written:
            raise DataError(self.nothing_left())
        return Encoded(
            starts,
            skipped=self.skipped,
            unreadable_files=len(self.bad.errors),
            notes=tuple(self.notes(len(starts))),
            whole_documents=len(starts) > 1,
            validation_start=part_starts.get(1),
            test_start=part_starts.get(2),
            snr=self.snr,
        )

    @property
    def skipped(self) -> int:
        """How many files are left out."""
        return len(self.bad.errors) + sum(map(len, self.left_out.values()))

    @property
    def snr(self) -> float | None:
        """The signal to noise ratio of quantising, in decibels; None without noise."""
        return 10 * math.log10(self.signal / self.noise) if self.noise else None

    def findings(self) -> dict[str, Any]:
        """What was found on the way, as JSON values; `include` takes it in elsewhere."""
        return {
            "bad": [[str(error.file), error.reason] for error in self.bad.errors],
            "left_out": {why: [*map(str, files)] for why, files in self.left_out.items()},
            "converted": dict(self.converted),
            "clipped": self.clipped,
            "signal": self.signal,
            "noise": self.noise,
        }

    def include(self, findings: Mapping[str, Any]) -> None:
        """Take in what was found in other files."""
        self.bad.errors += [BadFileError(Path(file), why) for file, why in findings["bad"]]
        for why, files in findings["left_out"].items():
            self.left_out[why] += map(Path, files)
        self.converted.update(findings["converted"])
        self.clipped += findings["clipped"]
        self.signal += findings["signal"]
        self.noise += findings["noise"]

    def order(self) -> list[str]:
        """The files' names, in the order of the documents."""
        part_of = self.source.located.part_of
        return sorted(self.source.files, key=lambda name: (part_of(name), _rank(name)))

    def _common_rate(self) -> int:
        """The sample rate of most files."""
        rates: Counter[int] = Counter()
        for file in self.source.files.values():
            try:
                rates[Reader(file).sample_rate] += 1
            except BadFileError as error:
                self.bad.leave_out(error)
        if not rates:
            raise DataError(self.nothing_left())
        self.bad.errors.clear()  # they are met again when the symbols are written
        return max(rates, key=lambda rate: (rates[rate], rate))

    def _measured(self, rate: int) -> Loudness:
        loudness = Loudness()
        with self.source.meter.shown("measuring the level", self.source.bytes):
            for name in self.order():
                self.measure(self.source.files[name], rate, loudness)
        if not loudness.silent:
            self.bad.errors.clear()  # they are met again when the symbols are written
        self.converted.clear()
        return loudness

    def measure(self, file: Path, rate: int, loudness: Loudness) -> None:
        """Take one file into `loudness`, as far as it can be read."""
        try:
            for frames in self._frames(file, rate, self.config.channels):
                loudness.peak = max(loudness.peak, float(np.abs(frames).max(initial=0)))
                loudness.square += float(np.square(frames, dtype=np.float64).sum())
                loudness.count += frames.size
        except BadFileError as error:
            self.bad.leave_out(error)

    def _frames(self, file: Path, rate: int, channels: int) -> Iterator[Frames]:
        """The samples (n, C) of a file, in blocks, at a rate in hertz."""
        opened = Reader(file)
        opened.require_convertible(rate)
        blocks = self._counted(opened, channels)
        yield from resampled(blocks, opened.sample_rate, rate, channels)
        if opened.sample_rate != rate:
            self.converted[f"resampled from {opened.sample_rate} Hz to {rate} Hz"] += 1
        if opened.channels < channels:
            self.converted["mono, read into both channels"] += 1
        if opened.channels > channels:
            self.converted[
                f"mixed from {opened.channels} channels"
                if self.config.channel == "mix"
                else f"read by one of {opened.channels} channels"
            ] += 1

    def _counted(self, opened: Reader, channels: int) -> Iterator[Frames]:
        """The blocks of a file, whose share of its bytes is shown as read."""
        size, read, counted = opened.path.stat().st_size, 0, 0
        for block in opened.frames_of(channels, self.config.channel, self.block):
            yield block
            read += len(block)
            now = size * min(read, opened.frames) // opened.frames
            self.source.meter.add(now - counted)
            counted = now

    def write(self, file: Path, codec: Quantiser, stream: OutputFile) -> int:
        """Write the symbols of one file, none if it is left out. Returns how many."""
        begin, count, peak = stream.tell(), 0, 0.0
        clipped, signal, noise = 0, 0.0, 0.0
        try:
            for frames in self._frames(file, codec.sample_rate, codec.channels):
                with codecs.failures(type(codec), "encode"):
                    symbols = codec.encode(frames)
                stream.write(symbols.tobytes())
                count += symbols.size
                magnitude = np.abs(frames)
                peak = max(peak, float(magnitude.max(initial=0)))
                clipped += int(np.count_nonzero(magnitude * codec.gain > 1))
                signal += float(np.square(frames, dtype=np.float64).sum())
                error = codec.frames(symbols) - frames
                noise += float(np.square(error, dtype=np.float64).sum())
        except BadFileError as error:
            self.bad.leave_out(error)
            count = 0
        else:
            if count < _SHORTEST * codec.symbol_rate:
                self.left_out[f"shorter than {_SHORTEST * 1000:g} ms"].append(file)
                count = 0
            elif peak < _SILENT:
                self.left_out[f"silent{self._cancelled(file)}"].append(file)
                count = 0
        if count:
            self.clipped += clipped
            self.signal += signal
            self.noise += noise
        else:
            stream.seek(begin)
            stream.truncate()
        return count

    def _cancelled(self, file: Path) -> str:
        """What is added of a file in whose mix nothing is heard, if there is in its channels."""
        opened = Reader(file)
        mixed = opened.channels > 1 and (self.config.channels, self.config.channel) == (1, "mix")
        if mixed and any(np.abs(frames).max() >= _SILENT for frames in opened.all_channels()):
            return ", since its channels cancel: data.channel=0 reads one of them"
        return ""

    def nothing_left(self) -> str:
        """Why no sound is left to learn from."""
        first = next(iter(self.source.files.values()))
        if self.bad.errors:
            count = len(self.source.files)
            if count == 1:
                return str(self.bad.errors[0])
            return f"none of {count} files of sound can be read: {self.bad.errors[0]}"
        why = ", ".join(f"{len(files)} {what}" for what, files in self.left_out.items())
        why = why or f"silent{self._cancelled(first)}"
        return (
            f"{first}: no sound to learn from ({why}): give a recording in which at least "
            f"{_SHORTEST * 1000:g} ms can be heard"
        )

    def notes(self, documents: int) -> Iterator[str]:
        """What the user is told about so many documents, in a line; nothing if all is as usual."""
        total = len(self.source.files)
        told = [f"{documents} of {counted(total, 'file')} of sound read"]
        told += [f"{count} {what}" for what, count in self.converted.items()]
        told += [f"{len(f)} left out ({why}): {first_of(f)}" for why, f in self.left_out.items()]
        if self.clipped:
            told.append(f"{counted(self.clipped, 'sample')} over 1 clipped")
        if self.bad.errors:
            told.append(f"{len(self.bad.errors)} of {total} files cannot be read: {self.bad}")
        if len(told) > 1:
            yield "; ".join(told)
