"""Text and bytes on disk become a corpus, encoded once and kept in the cache.

Files are read in blocks and symbols are written to a memory-mapped file, so that memory does not
grow with the text.
"""

import codecs as encodings
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs, corpus_cache
from seqkit.data.codecs import Bytes, Characters, TextCodec, UnknownSymbolError
from seqkit.data.corpus import Corpus
from seqkit.data.corpus_cache import Encoded
from seqkit.errors import ConfigError, DataError


def load(
    config: DataConfig, path: Path, name: str, cache: Path, codec: TextCodec | None = None
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
    source = corpus_cache.scan(path, _files(path), cache)
    files = list(source.files.values())
    if codec is not None:
        raw = isinstance(codec, Bytes)
        if config.kind not in ("auto", "bytes" if raw else "text"):
            raise ConfigError(
                f"data.kind={config.kind}: the checkpoint reads {'bytes' if raw else 'text'}; "
                "take data.kind=auto"
            )
    else:
        kind = config.kind
        raw = kind == "bytes" or (kind == "auto" and not _is_text(files, config.encoding))
        codec = Bytes() if raw else None
    settings = {
        "kind": "text",
        "encoding": "" if raw else config.encoding,
        "unknown": config.unknown,
        "max_vocabulary": config.max_vocabulary,
        "codec": codec.to_spec() if codec else None,
    }
    return corpus_cache.load(
        source, settings, name, cache, lambda stream: _encode(config, files, raw, codec, stream)
    )


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
    files = corpus_cache.listing(path, lambda file: file.suffix == ".txt", ".txt file")
    files = [file for file in files if file.stat().st_size]
    if not files:
        raise DataError(f"{path}: the text is empty")
    return files


def _text_blocks(file: Path, encoding: str) -> Iterator[str]:
    decoder = encodings.getincrementaldecoder(encoding)()
    read = 0
    try:
        for block in corpus_cache.blocks(file):
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


def _encode(
    config: DataConfig, files: list[Path], raw: bool, codec: TextCodec | None, stream: IO[bytes]
) -> Encoded:
    """Write the symbols of all files."""
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
    for file in files:
        starts.append(written)
        offset = 0
        blocks = corpus_cache.blocks(file) if raw else _text_blocks(file, config.encoding)
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
    skipped = read - written
    left_out = f"{skipped} characters outside the vocabulary were left out"
    return Encoded(codec, starts, skipped, (left_out,) if skipped else ())
