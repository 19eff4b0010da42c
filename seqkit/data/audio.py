"""Files of sound become a corpus: one symbol a sample, quantised once and kept in the cache.

Files are read, resampled and quantised in blocks, so that memory does not grow with the sound.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs, corpus_cache
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus
from seqkit.data.corpus_cache import Encoded
from seqkit.data.datasets import Located
from seqkit.data.sound import Wave, reader
from seqkit.data.sound.reader import BadFileError, Reader
from seqkit.data.sound.resample import Resampler
from seqkit.errors import ConfigError, DataError
from seqkit.plugins import Catalogue

_SHORTEST = 0.02  # seconds; a clip below holds nothing to learn from
_RMS = 0.1  # of the whole data set under data.gain=rms, 20 dB below full scale
_SILENT = 2.0**-15  # peak of a clip that holds nothing but the last bit of 16


def holds_sound(path: Path) -> bool:
    """Whether data.kind=auto means sound: a file that opens as sound or is named so, or a folder
    of such files without texts."""
    if not path.is_dir():
        return path.suffix.lower() in reader.SUFFIXES or (
            path.suffix != ".txt" and reader.is_sound(path)
        )
    files = [file.suffix.lower() for file in path.rglob("*")]
    return ".txt" not in files and not reader.SUFFIXES.isdisjoint(files)


def load(
    config: DataConfig,
    located: Located,
    *,
    cache: Path,
    catalogue: Catalogue,
    codec: Quantiser | None = None,
) -> Corpus:
    """The corpus of a file, or of a folder whose files of sound (any depth) are documents.

    The files of a folder stand in an order that depends on nothing but their names and looks
    random, so that a split takes some of everything; those of the data set's own validation and
    test part come last.

    Args:
        config: the keys for sound are read here.
        located: the file or folder, its name, and its own parts.
        cache: the folder for encoded data.
        catalogue: where `config.codec` is looked for.
        codec: quantise with this one; by default one as configured.

    Raises:
        DataError: nothing to read, or with on_bad_file=error a file that cannot be read.
        ConfigError: a sample rate or quantiser other than the codec's.
    """
    if codec is not None:
        _check_same(config, codec)
    files = corpus_cache.listing(located.path, files_in, "file of sound")
    source = corpus_cache.scan(located, files, cache)
    settings = {
        "kind": "audio",
        "channel": config.channel,
        "on_bad_file": config.on_bad_file,
    }
    reading = _Reading(config, source.files, located)
    if codec is None:
        kind = codecs.find("mu_law" if config.codec == "auto" else config.codec, catalogue)
        assert issubclass(kind, Quantiser)
        wanted = {
            **settings,
            "codec": kind.name,
            "code": codecs.fingerprint(kind),
            "sample_rate": config.sample_rate,
            "levels": config.levels,
            "gain": config.gain,
        }
        found = corpus_cache.find_codec(source, wanted, catalogue, lambda: reading.codec(kind))
        assert isinstance(found, Quantiser)
        codec = found
    quantiser = codec
    return corpus_cache.load(
        source, settings, codec, lambda stream: reading.encode(quantiser, stream)
    )


def files_in(folder: Path) -> Iterator[Path]:
    """The files in a folder, at any depth, that are named as sound."""
    return (
        file
        for file in folder.rglob("*")
        if file.suffix.lower() in reader.SUFFIXES and file.is_file()
    )


def _check_same(config: DataConfig, codec: Quantiser) -> None:
    """Refuse keys that ask for another quantiser than the checkpoint's; defaults ask for nothing.

    A codec does not tell what kind its gain is: see `check_gain`.
    """
    if config.sample_rate not in (0, codec.sample_rate):
        raise ConfigError(
            f"data.sample_rate={config.sample_rate}: the checkpoint was trained at "
            f"{codec.sample_rate} Hz; give data.sample_rate=0"
        )
    defaults = DataConfig()
    asked = {"levels": codec.levels}
    for key, own in asked.items():
        if getattr(config, key) not in (own, getattr(defaults, key)):
            raise ConfigError(
                f"data.{key}={getattr(config, key)}: the checkpoint was trained with {own}; "
                "leave the key out"
            )


def check_gain(config: DataConfig, trained: Mapping[str, Any]) -> None:
    """Refuse a `data.gain` other than the one of the training; the default asks for nothing.

    The factor itself says little: a gain of 1 is none, or that of a peak at full scale.

    Args:
        config: what the user asks for.
        trained: the config in a checkpoint. One that names no gain refuses nothing.

    Raises:
        ConfigError: another gain is asked for.
    """
    data = trained.get("data")
    gain = data.get("gain") if isinstance(data, Mapping) else None
    if gain is not None and config.gain not in (gain, DataConfig().gain):
        raise ConfigError(
            f"data.gain={config.gain}: the checkpoint was trained with {gain}; leave the key out"
        )


def _rank(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()


@dataclass
class _Reading:
    """One pass or two over the files, and what they came across."""

    config: DataConfig
    files: Mapping[str, Path]
    located: Located
    bad: list[BadFileError] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    converted: Counter[str] = field(default_factory=Counter)
    clipped: int = 0
    signal: float = 0.0
    noise: float = 0.0

    def codec(self, kind: type[Quantiser]) -> Quantiser:
        """The quantiser of a kind that `config` asks for."""
        rate = self.config.sample_rate or self._common_rate()
        return kind(self.config.levels, rate, self._gain(rate))

    def encode(self, codec: Quantiser, stream: IO[bytes]) -> Encoded:
        """Write the symbols of all files that can be used."""
        starts: list[int] = []
        part_starts: dict[int, int] = {}
        written = 0
        for name in self._order():
            part_starts.setdefault(self.located.part_of(name), written)
            count = self._write(self.files[name], codec, stream)
            if count:
                starts.append(written)
                written += count
        if not written:
            raise DataError(self._nothing_left())
        return Encoded(
            starts,
            skipped=len(self.bad) + self.left_out.total(),
            notes=tuple(self._notes(len(starts))),
            whole_documents=len(starts) > 1,
            validation_start=part_starts.get(1),
            test_start=part_starts.get(2),
            snr=10 * math.log10(self.signal / self.noise) if self.noise else None,
        )

    def _order(self) -> list[str]:
        return sorted(self.files, key=lambda name: (self.located.part_of(name), _rank(name)))

    def _common_rate(self) -> int:
        """The sample rate of most files."""
        rates: Counter[int] = Counter()
        for file in self.files.values():
            try:
                rates[Reader(file).sample_rate] += 1
            except BadFileError as error:
                self._refuse(error)
        if not rates:
            raise DataError(self._nothing_left())
        self.bad.clear()  # they come again when all is read
        return max(rates, key=lambda rate: (rates[rate], rate))

    def _gain(self, rate: int) -> float:
        if self.config.gain == "none":
            return 1.0
        peak, square, count = 0.0, 0.0, 0
        for name in self._order():
            try:
                for wave in self._waves(self.files[name], rate):
                    peak = max(peak, float(np.abs(wave).max(initial=0)))
                    square += float(np.square(wave, dtype=np.float64).sum())
                    count += wave.size
            except BadFileError as error:
                self._refuse(error)
        if peak < _SILENT:
            raise DataError(self._nothing_left())
        self.bad.clear()
        self.converted.clear()
        return 1 / peak if self.config.gain == "peak" else _RMS / math.sqrt(square / count)

    def _waves(self, file: Path, rate: int) -> Iterator[Wave]:
        opened = Reader(file)
        resampler = Resampler(opened.sample_rate, rate)
        for block in opened.blocks(self.config.channel):
            yield resampler.convert(block)
        yield resampler.convert(np.zeros(0, np.float32), last=True)
        if opened.sample_rate != rate:
            self.converted[f"resampled from {opened.sample_rate} Hz to {rate} Hz"] += 1
        if opened.channels > 1:
            self.converted[
                f"mixed from {opened.channels} channels"
                if self.config.channel == "mix"
                else f"read by one of {opened.channels} channels"
            ] += 1

    def _write(self, file: Path, codec: Quantiser, stream: IO[bytes]) -> int:
        """The symbols of one file; none if it is left out. Returns how many were written."""
        begin, count, peak = stream.tell(), 0, 0.0
        clipped, signal, noise = 0, 0.0, 0.0
        try:
            for wave in self._waves(file, codec.sample_rate):
                symbols = codec.encode(wave)
                stream.write(symbols.tobytes())
                count += wave.size
                magnitude = np.abs(wave)
                peak = max(peak, float(magnitude.max(initial=0)))
                clipped += int(np.count_nonzero(magnitude * codec.gain > 1))
                signal += float(np.square(wave, dtype=np.float64).sum())
                error = codec.decode(symbols) - wave
                noise += float(np.square(error, dtype=np.float64).sum())
        except BadFileError as error:
            self._refuse(error)
            count = 0
        else:
            if count < _SHORTEST * codec.sample_rate:
                self.left_out[f"shorter than {_SHORTEST * 1000:g} ms"] += 1
                count = 0
            elif peak < _SILENT:
                self.left_out["silent"] += 1
                count = 0
        if count:
            self.clipped += clipped
            self.signal += signal
            self.noise += noise
        else:
            stream.seek(begin)
            stream.truncate()
        return count

    def _refuse(self, error: BadFileError) -> None:
        if self.config.on_bad_file == "error":
            hint = "; data.on_bad_file=skip leaves such files out" if len(self.files) > 1 else ""
            raise DataError(f"{error}{hint}") from error
        self.bad.append(error)

    def _nothing_left(self) -> str:
        first = next(iter(self.files.values()))
        if self.bad:
            return f"none of {len(self.files)} file(s) of sound can be read: {self.bad[0]}"
        why = ", ".join(f"{count} {what}" for what, count in self.left_out.items())
        return f"{first}: nothing is left of the sound: {why or 'silence'}"

    def _notes(self, documents: int) -> Iterator[str]:
        if self.bad:
            names = "; ".join(f"{error.file} ({error.reason})" for error in self.bad)
            yield f"{len(self.bad)} of {len(self.files)} files cannot be read: {names}"
        told = [f"{documents} of {len(self.files)} file(s) of sound read"]
        told += [f"{count} {what}" for what, count in self.converted.items()]
        told += [f"{count} left out ({what})" for what, count in self.left_out.items()]
        if self.clipped:
            told.append(f"{self.clipped} samples over 1 clipped")
        if len(told) > 1:
            yield "; ".join(told)
