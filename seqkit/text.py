"""Text and bytes on disk become a corpus, encoded once and kept in the cache.

Files are read in blocks and symbols are written to a memory-mapped file, so that memory does not
grow with the text.
"""

import codecs as encodings
import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seqkit import codecs, paths
from seqkit.codecs import Bytes, Characters, Codec, UnknownSymbolError
from seqkit.config import DataConfig
from seqkit.corpus import Corpus, Part
from seqkit.errors import ConfigError, DataError, OutputError

_BLOCK = 1 << 22  # bytes
_FORMAT = 1  # of the cached files; a change of the format changes their key
_SETTLED = 2.0  # seconds after which a file's time stamp tells of every later change


def load(
    config: DataConfig, path: Path, name: str, cache: Path, codec: Codec | None = None
) -> Corpus:
    """The corpus of a file, or of a folder whose .txt files (any depth) are one document each.

    Args:
        config: kind, encoding, unknown and max_vocabulary are read here.
        path: the file or folder.
        name: what the corpus is called.
        cache: the folder for encoded data.
        codec: encode with this one; by default one that fits the text.

    Raises:
        DataError: nothing to read, bytes that are not text, or characters outside the vocabulary.
        ConfigError: an encoding that does not exist.
    """
    _check_encoding(config.encoding)
    files = _files(path)
    hashes = _hashes(path, files, cache)
    sha256 = next(iter(hashes.values()))
    if path.is_dir():
        listing = "".join(f"{digest}  {file}\n" for file, digest in hashes.items())
        sha256 = hashlib.sha256(listing.encode()).hexdigest()
    if codec is not None:
        raw = isinstance(codec, Bytes)
        if config.kind not in ("auto", "bytes" if raw else "text"):
            raise ConfigError(
                f"data.kind={config.kind}: the checkpoint reads {'bytes' if raw else 'text'}; "
                "leave data.kind as it was"
            )
    else:
        kind = config.kind
        raw = kind == "bytes" or (kind == "auto" and not _is_text(files, config.encoding))
        codec = Bytes() if raw else None
    settings = {
        "format": _FORMAT,
        "sha256": sha256,
        "encoding": "" if raw else config.encoding,
        "unknown": config.unknown,
        "max_vocabulary": config.max_vocabulary,
        "codec": codec.to_spec() if codec else None,
    }
    key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]
    base = cache / "corpora" / key
    if corpus := _cached(base, name, sha256):
        return corpus
    _encode(config, files, raw, codec, base)
    corpus = _cached(base, name, sha256)
    if corpus is None or _hashes(path, files, cache) != hashes:
        base.with_suffix(".json").unlink(missing_ok=True)
        raise DataError(f"{path}: changed while it was read: start again")
    return corpus


def _check_encoding(encoding: str) -> None:
    try:
        info = encodings.lookup(encoding)
    except (LookupError, ValueError):
        info = None
    if info is None or not getattr(info, "_is_text_encoding", True):
        raise ConfigError(
            f"data.encoding={encoding}: no such text encoding; utf-8 and latin-1 are two"
        )


def _files(path: Path) -> list[Path]:
    try:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*.txt") if file.is_file())
            if not files:
                raise DataError(f"{path}: the folder holds no .txt file")
        else:
            with path.open("rb"):
                files = [path]
        if not any(file.stat().st_size for file in files):
            raise DataError(f"{path}: the text is empty")
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file or folder; see data.path") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {paths.describe(error)}") from error
    return [file for file in files if file.stat().st_size]


def _blocks(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                yield block
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {paths.describe(error)}") from error


def _text_blocks(file: Path, encoding: str) -> Iterator[str]:
    decoder = encodings.getincrementaldecoder(encoding)()
    read = 0
    try:
        for block in _blocks(file):
            read += len(block)
            yield decoder.decode(block)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        # error.object is what the decoder had kept and the newest block: it ends where we read to.
        offset = read - len(error.object) + error.start
        raise DataError(
            f"{file}: byte {offset} (0x{error.object[error.start]:02x}) is not {encoding}: "
            "name the encoding with data.encoding, or read any file with data.kind=bytes"
        ) from error
    except UnicodeError as error:
        raise DataError(
            f"{file}: not {encoding} ({error}): name the encoding with data.encoding"
        ) from error


def _is_text(files: list[Path], encoding: str) -> bool:
    try:
        for file in files:
            for _ in _text_blocks(file, encoding):
                pass
    except DataError:
        return False
    return True


def _hashes(root: Path, files: list[Path], cache: Path) -> dict[str, str]:
    """The sha256 of each file by its name under `root`, remembered by path, size and mtime."""
    memory = (
        cache / "hashes" / (hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32] + ".json")
    )
    known = _read_json(memory) or {}
    entries: dict[str, list[Any]] = {}
    for file in files:
        name = file.relative_to(root).as_posix() if file != root else file.name
        status = file.stat()
        entry = known.get(name)
        if not (isinstance(entry, list) and entry[:2] == [status.st_size, status.st_mtime_ns]):
            digest = hashlib.sha256()
            for block in _blocks(file):
                digest.update(block)
            entry = [status.st_size, status.st_mtime_ns, digest.hexdigest()]
        entries[name] = entry
    # A file that changed just now could change again within the same tick of its time stamp.
    settled = {
        name: entry for name, entry in entries.items() if entry[1] < (time.time() - _SETTLED) * 1e9
    }
    if settled != known:
        with contextlib.suppress(OutputError), paths.atomic_write(memory) as stream:
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
        dtype = codecs.symbol_dtype(codec.size)
        if data.stat().st_size != meta["symbols"] * dtype.itemsize:
            return None
        symbols = np.memmap(data, dtype=dtype, mode="r")
        starts = np.asarray(meta["starts"], dtype=np.int64)
        return Corpus(Part(symbols, starts), codec, name, sha256, int(meta["skipped"]))
    except (KeyError, TypeError, ValueError, OSError):
        return None  # damaged, or from another version: made anew


def _encode(
    config: DataConfig,
    files: list[Path],
    raw: bool,
    codec: Codec | None,
    base: Path,
) -> None:
    """Write the symbols of all files, and then what belongs to them, under the path `base`."""
    if codec is None:
        counts = np.zeros(0x110000, dtype=np.int64)
        for file in files:
            for text in _text_blocks(file, config.encoding):
                points = np.bincount(codecs.code_points(text), minlength=1)
                counts[: points.size] += points
        if not counts.any():
            raise DataError(f"{files[0]}: the text is empty")
        codec = Characters.from_counts(counts, config.max_vocabulary)
    starts = []
    written = read = 0
    with paths.atomic_write(base.with_suffix(".bin")) as stream:
        for file in files:
            starts.append(written)
            offset = 0
            blocks = _blocks(file) if raw else _text_blocks(file, config.encoding)
            for block in blocks:
                try:
                    symbols = codec.encode(block, config.unknown)
                except UnknownSymbolError as error:
                    raise DataError(
                        f"{file}: {UnknownSymbolError(error.character, offset + error.offset)}: "
                        "see data.unknown=skip|nearest"
                    ) from error
                stream.write(symbols.tobytes())
                offset += len(block)
                written += symbols.size
            read += offset
    if not written:
        raise DataError(f"{files[0]}: nothing is left of the text: all of it was skipped")
    # A document of which nothing is left is none.
    kept = [start for start, end in zip(starts, [*starts[1:], written], strict=True) if end > start]
    meta = {"codec": codec.to_spec(), "symbols": written, "starts": kept, "skipped": read - written}
    with paths.atomic_write(base.with_suffix(".json")) as stream:
        stream.write(json.dumps(meta).encode())
