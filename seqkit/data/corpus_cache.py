"""Encoded files in the cache: read once, known again by their content, opened as a memory map."""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from seqkit import disk
from seqkit.data import codecs
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Corpus, Part
from seqkit.errors import DataError, OutputError
from seqkit.symbols import symbol_dtype

_BLOCK = 1 << 22  # bytes
_FORMAT = 2  # of the cached files; a change of the format changes their key
_SETTLED = 2.0  # seconds after which a file's time stamp tells of every later change


@dataclass(frozen=True)
class Encoded:
    """What belongs to the symbols that an encoder wrote.

    starts: where documents start; one of which nothing was written is none.
    skipped, notes, whole_documents, held_out, snr: as in `Corpus`.
    """

    codec: Codec
    starts: list[int]
    skipped: int = 0
    notes: tuple[str, ...] = ()
    whole_documents: bool = False
    held_out: int | None = None
    snr: float | None = None


@dataclass(frozen=True)
class Source:
    """Files below a root (or the root itself), by name, with the sha256 of each."""

    root: Path
    files: Mapping[str, Path]
    hashes: Mapping[str, str]

    @property
    def sha256(self) -> str:
        """Of the file, or of the folder's listing as `sha256sum` prints it."""
        if not self.root.is_dir():
            return next(iter(self.hashes.values()))
        listing = "".join(f"{digest}  {name}\n" for name, digest in self.hashes.items())
        return hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()


def scan(root: Path, files: list[Path], cache: Path) -> Source:
    """Hash the files, or take the hashes remembered by path, size and time stamp."""
    named = {
        file.relative_to(root).as_posix() if file != root else file.name: file for file in files
    }
    return Source(root, named, _hashes(root, named, cache))


def load(
    source: Source,
    settings: dict[str, Any],
    name: str,
    cache: Path,
    encode: Callable[[IO[bytes]], Encoded],
) -> Corpus:
    """The corpus of a source under some settings: from the cache, or encoded into it.

    Args:
        source: what is read.
        settings: everything else that the symbols depend on, as JSON values.
        name: what the corpus is called.
        cache: the folder for encoded data.
        encode: writes the symbols of all files, in the order of `source.files`.

    Raises:
        DataError: the files changed meanwhile, and what `encode` raises.
    """
    identity = {"format": _FORMAT, "sha256": source.sha256, **settings}
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]
    base = cache / "corpora" / key
    if corpus := _cached(base, name, source.sha256):
        return corpus
    with disk.atomic_write(base.with_suffix(".bin")) as stream:
        encoded = encode(stream)
        size = stream.tell() // symbol_dtype(encoded.codec.size).itemsize
    ends = [*encoded.starts[1:], size]
    starts = [start for start, end in zip(encoded.starts, ends, strict=True) if end > start]
    meta = {**vars(encoded), "codec": encoded.codec.to_spec(), "starts": starts, "symbols": size}
    changed = DataError(f"{source.root}: changed while it was read: start again")
    if _hashes(source.root, source.files, cache) != source.hashes:
        raise changed
    with disk.atomic_write(base.with_suffix(".json")) as stream:
        stream.write(json.dumps(meta).encode())
    corpus = _cached(base, name, source.sha256)
    if corpus is None:
        raise changed
    return corpus


def blocks(file: Path) -> Iterator[bytes]:
    """The bytes of a file, some megabytes at a time. Raises DataError."""
    try:
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                yield block
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {disk.describe(error)}") from error


def listing(path: Path, wanted: Callable[[Path], bool], what: str) -> list[Path]:
    """A file, or those files of a folder (any depth, sorted) that are wanted.

    Raises:
        DataError: there are none; `what` says of which kind.
    """
    try:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if wanted(file) and file.is_file())
            if not files:
                raise DataError(f"{path}: the folder holds no {what}")
            return files
        with path.open("rb"):
            return [path]
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file or folder; see data.path") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {disk.describe(error)}") from error


def _hashes(root: Path, files: Mapping[str, Path], cache: Path) -> dict[str, str]:
    memory = (
        cache / "hashes" / (hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32] + ".json")
    )
    known = _read_json(memory) or {}
    entries: dict[str, list[Any]] = {}
    for name, file in files.items():
        try:
            status = file.stat()
        except OSError as error:
            raise DataError(f"{file}: cannot be read: {disk.describe(error)}") from error
        entry = known.get(name)
        if not (isinstance(entry, list) and entry[:2] == [status.st_size, status.st_mtime_ns]):
            digest = hashlib.sha256()
            for block in blocks(file):
                digest.update(block)
            entry = [status.st_size, status.st_mtime_ns, digest.hexdigest()]
        entries[name] = entry
    # A file that changed just now could change again within the same tick of its time stamp.
    settled = {
        name: entry for name, entry in entries.items() if entry[1] < (time.time() - _SETTLED) * 1e9
    }
    if settled != known:
        with contextlib.suppress(OutputError), disk.atomic_write(memory) as stream:
            stream.write(json.dumps(settled).encode())
    return {name: entry[2] for name, entry in entries.items()}


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _cached(base: Path, name: str, sha256: str) -> Corpus | None:
    meta = _read_json(base.with_suffix(".json"))
    data = base.with_suffix(".bin")
    if meta is None:
        return None
    try:
        codec = codecs.from_spec(meta["codec"])
        dtype = symbol_dtype(codec.size)
        if data.stat().st_size != meta["symbols"] * dtype.itemsize:
            return None
        symbols = np.memmap(data, dtype=dtype, mode="r")
        return Corpus(
            Part(symbols, np.asarray(meta["starts"], dtype=np.int64)),
            codec,
            name,
            sha256,
            int(meta["skipped"]),
            tuple(meta["notes"]),
            bool(meta["whole_documents"]),
            meta["held_out"],
            meta["snr"],
        )
    except (KeyError, TypeError, ValueError, OSError):
        return None  # damaged, or from another version: made anew
