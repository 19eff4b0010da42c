"""Encoded files in the cache: read once, known again by their content."""

import contextlib
import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.data import checked_json, codecs, file_hashes
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.datasets import Located
from seqkit.data.meter import Meter
from seqkit.data.symbol_files import StoredFile, digests
from seqkit.data.symbol_row import StoredSymbols
from seqkit.foundation import disk
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.plugins import Catalogue
from seqkit.symbols import symbol_dtype

_FORMAT = 7  # of the cached files; a change of the format changes their key


@dataclass(frozen=True)
class Encoded:
    """What an encoder says of the symbols that it wrote.

    starts: where documents start; one of which nothing was written is left out.
    skipped, unreadable_files, notes, whole_documents, validation_start, test_start, snr: as in
        `Corpus`.
    """

    starts: list[int]
    skipped: int = 0
    unreadable_files: int = 0
    notes: tuple[str, ...] = ()
    whole_documents: bool = False
    validation_start: int | None = None
    test_start: int | None = None
    snr: float | None = None


@dataclass(frozen=True)
class Source:
    """Files below folders, or files alone, and what identifies their content.

    files: by name, as `Search.named` names them.
    located: what the data set says of itself.
    cache: the folder for encoded data.
    meter: shows how far its files were read.
    """

    located: Located
    files: Mapping[str, Path]
    hashes: Mapping[str, str]
    bytes: int
    cache: Path
    meter: Meter

    @property
    def sha256(self) -> str:
        """Of the file, or of the folder's listing as `sha256sum` prints it."""
        if not self.located.others and not self.located.path.is_dir():
            return next(iter(self.hashes.values()))
        listing = "".join(f"{digest}  {name}\n" for name, digest in self.hashes.items())
        return hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()

    def key(self, settings: Mapping[str, Any]) -> str:
        """What data of this content is known by in the cache, with some settings (JSON values)."""
        located = {"validation": self.located.validation, "test": self.located.test}
        identity = {"format": _FORMAT, "sha256": self.sha256, **located, **settings}
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]

    def check_unchanged(self) -> None:
        """Raise DataError if a file changed since it was hashed."""
        if file_hashes.of(self.located, self.files, self.cache, Meter())[0] != self.hashes:
            raise DataError(f"{self.located}: changed while it was read: start again")


def scan(located: Located, files: Mapping[str, Path], cache: Path, meter: Meter) -> Source:
    """Hash the files, or take the hashes that are remembered of them.

    Raises:
        DataError: a file cannot be read, or a part of the data set's own has no file.
    """
    located = described(located, files)
    hashes, size = file_hashes.of(located, files, cache, meter)
    return Source(located, files, hashes, size, cache, meter)


def described(located: Located, files: Mapping[str, Path]) -> Located:
    """What is read, with a name that says how much of it that is.

    Raises:
        DataError: a part of the data set's own has no file.
    """
    parts = {located.part_of(name) for name in files}
    for part, pattern in ((1, located.validation), (2, located.test)):
        if pattern and part not in parts:
            raise DataError(
                f"{located}: no file matches {pattern}, which {located.name} names as its own "
                f"{('validation', 'test')[part - 1]} part"
            )
    return _named(located, files) if located.others else located


def _named(located: Located, files: Mapping[str, Path]) -> Located:
    """Several paths, called after those of which something is read."""
    first, *more = sorted({int(name.partition("/")[0]) for name in files})
    path = located.paths[first - 1]
    name = path.name or str(path)
    return dataclasses.replace(located, name=f"{name} and {len(more)} more" if more else name)


def find_codec(
    source: Source,
    settings: Mapping[str, Any],
    catalogue: Catalogue,
    derive: Callable[[], Codec],
) -> Codec:
    """The codec that fits the source: remembered from last time, or derived.

    Args:
        source: what is read.
        settings: all that the codec depends on beside the content, as JSON values.
        catalogue: where the name of a remembered codec is looked for.
        derive: finds the codec.

    Raises:
        DataError: the files changed meanwhile, the codec is faulty, and what `derive` raises.
    """
    memory = source.cache / "codecs" / f"{source.key(settings)}.json"
    if spec := checked_json.read(memory):
        with contextlib.suppress(ValueError, ConfigError):  # of a plug-in that changed
            return codecs.from_spec(spec, catalogue)
    codec = derive()
    spec = codecs.spec_of(codec)
    source.check_unchanged()
    checked_json.write(memory, spec)
    return codec


def load(
    source: Source,
    settings: Mapping[str, Any],
    codec: Codec,
    encode: Callable[[OutputFile], Encoded],
) -> Corpus:
    """The corpus of a source: from the cache, or encoded into it.

    Whether the codec was derived from this source or given makes no difference to the key.

    Args:
        source: what is read.
        settings: what the symbols depend on beside content and codec, as JSON values.
        codec: what the symbols mean.
        encode: writes the symbols of all files.

    Raises:
        DataError: the files changed meanwhile, and what `encode` raises.
    """
    code = codecs.fingerprint(type(codec))
    key = source.key({**settings, "codec": codec.to_spec(), "code": code})
    base = source.cache / "corpora" / key
    complete = all(base.with_suffix(suffix).exists() for suffix in (".bin", ".json"))
    if corpus := _cached(base, source, codec):
        return corpus
    shown = source.meter.shown("encoding", source.bytes)
    sound = isinstance(codec, Quantiser)  # which may be compressed
    most = None if sound else source.bytes * symbol_dtype(codec.size).itemsize
    with shown, disk.space_needed(most), disk.atomic_write(base.with_suffix(".bin")) as stream:
        encoded = encode(stream)
        written = stream.tell()
    size = written // symbol_dtype(codec.size).itemsize
    ends = [*encoded.starts[1:], size]
    starts = [start for start, end in zip(encoded.starts, ends, strict=True) if end > start]
    notes = [_without_places(note, source) for note in encoded.notes]
    meta = {**vars(encoded), "starts": starts, "symbols": size, "notes": notes}
    source.check_unchanged()
    with source.meter.shown("checking the cache", written):
        _, meta["blocks"] = digests(base.with_suffix(".bin"), source.meter.add)
    checked_json.write(base.with_suffix(".json"), meta)
    corpus = _corpus(_stored(base, meta, codec), meta, source, codec)
    if complete:
        told = f"the cached copy of {source.located} was damaged: it was made again"
        return dataclasses.replace(corpus, notes=(told, *corpus.notes))
    return corpus


def _without_places(note: str, source: Source) -> str:
    """A note with the numbers of files in place of their paths: they may lie elsewhere later."""
    numbers = {str(file): number for number, file in enumerate(source.files.values())}
    for path in sorted(numbers, key=len, reverse=True):
        note = note.replace(path, f"\0{numbers[path]}\0")
    return note


def _with_places(note: str, source: Source) -> str:
    """A note of `_without_places` with the paths of now."""
    paths = [*map(str, source.files.values())]
    return re.sub("\0(\\d+)\0", lambda found: paths[int(found[1])], note)


def _cached(base: Path, source: Source, codec: Codec) -> Corpus | None:
    """The corpus from the cache; None if it is not there whole, or damaged."""
    meta = checked_json.read(base.with_suffix(".json"))
    if meta is None:
        return None
    try:
        symbols = _stored(base, meta, codec)
        corpus = _corpus(symbols, meta, source, codec)
        with source.meter.shown("checking the cache", symbols.nbytes):
            symbols.check(source.meter.add)
    except (DataError, KeyError, IndexError, TypeError, ValueError):
        return None
    return corpus


def _stored(base: Path, meta: Mapping[str, Any], codec: Codec) -> StoredSymbols:
    """The cached symbols, of which nothing is read yet.

    Raises:
        DataError: they are not there, or more or fewer.
        KeyError, TypeError: what is written down of them is something else.
    """
    file = StoredFile(base.with_suffix(".bin"), meta["symbols"], meta["blocks"])
    return StoredSymbols.of([file], codec.size, "start again: the data are encoded anew")


def _corpus(
    symbols: StoredSymbols, meta: Mapping[str, Any], source: Source, codec: Codec
) -> Corpus:
    """The corpus of these symbols.

    Raises KeyError, IndexError, TypeError or ValueError if what is written down is something else.
    """
    located = source.located
    return Corpus(
        whole=Part(symbols, np.asarray(meta["starts"], np.int64), frame=codecs.frame_of(codec)),
        codec=codec,
        name=located.name,
        sha256=source.sha256,
        bytes=source.bytes,
        skipped=int(meta["skipped"]),
        unreadable_files=int(meta["unreadable_files"]),
        notes=tuple(_with_places(note, source) for note in meta["notes"]),
        whole_documents=bool(meta["whole_documents"]),
        validation_start=meta["validation_start"],
        test_start=meta["test_start"],
        snr=meta["snr"],
        licence=located.licence,
        citation=located.citation,
        stand_in=located.path if located.stands_in else None,
    )
