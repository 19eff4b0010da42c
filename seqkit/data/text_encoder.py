"""Text becomes symbols: read in blocks, so that memory does not grow with the file."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs
from seqkit.data.codecs import Characters, TextCodec, UnknownSymbolError
from seqkit.data.files import blocks
from seqkit.data.findings import Findings, LineEnds
from seqkit.data.text_reading import encoding_with_mark, row_batches, text_blocks
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import DataError
from seqkit.symbols import Symbols, symbol_dtype

Count = Callable[[int], None]


def pieces_of(
    file: Path,
    kind: str,
    config: DataConfig,
    count: Count,
    begin: int = 0,
    end: int | None = None,
) -> Iterator[str | bytes]:
    """The content of a file, or of some bytes of it, for a codec of text or bytes.

    `count` is told how many bytes were read, each time.

    Raises:
        BadFileError: it cannot be read.
    """
    return (piece for _, piece in _read(file, kind, config, count, begin, end))


def encode_text(
    name: str,
    file: Path,
    codec: TextCodec,
    config: DataConfig,
    stream: OutputFile,
    count: Count,
    begin: int = 0,
    end: int | None = None,
) -> tuple[list[int], Findings]:
    """Write the symbols of a file, or of some bytes of it.

    Returns:
        How many symbols each of its documents has: of a file that holds rows one a row. With them
        what was found in it.

    Raises:
        BadFileError: it cannot be read; some of it may be written.
        DataError: a character is outside the vocabulary.
    """
    shown = f"{file}, after byte {begin}" if begin else str(file)
    sizes, ends, findings = list[int](), LineEnds(), Findings()
    offset = 0
    for documents, text in _read(file, codec.kind, config, count, begin, end):
        if documents is None:
            symbols = _encode(shown, text, offset, codec, config)
            sizes = [sum(sizes) + symbols.size]
        else:
            symbols, found = _encode_rows(shown, documents, text, len(sizes), codec, config)
            sizes += found
        stream.write(np.ascontiguousarray(symbols).data)
        _count_unknown(text, symbols, codec, config, findings)
        if isinstance(text, str):
            if not offset and not begin and text.startswith("\ufeff"):
                findings.marked.append(name)
            ends.look_at(text)
        offset += len(text)
    if ends.one_line:
        findings.one_line.append(name)
    elif ends.of_windows and not (findings.skipped and findings.unknown["\r"]):  # else left out
        findings.of_windows.append(name)
        findings.mixed = ends.returns < ends.newlines
    return sizes, findings


def _read(
    file: Path, kind: str, config: DataConfig, count: Count, begin: int, end: int | None
) -> Iterator[tuple[list[str] | None, str | bytes]]:
    """Each piece, and before it the documents that make it; None where the file is one."""
    if config.of_rows:
        for documents in row_batches(file, config.newline, count, begin, end):
            yield documents, "".join(documents)
        return
    pieces: Iterator[str] | Iterator[bytes] = (
        blocks(file, count, begin, end)
        if kind == "bytes"
        else text_blocks(file, config.encoding, config.newline, count, begin, end)
    )
    for piece in pieces:
        yield None, piece


def _count_unknown(
    text: str | bytes, symbols: Symbols, codec: TextCodec, config: DataConfig, findings: Findings
) -> None:
    """Take in which characters of a text were left out of its symbols (N,), or replaced."""
    asked, skipped = config.unknown, 0
    if asked == "error":
        return
    if isinstance(codec, Characters) and isinstance(text, str):
        unknown = codec.unknown_in(text)
        findings.unknown.update(unknown)
        skipped = unknown.total()
    elif asked == "skip":
        with codecs.failures(type(codec), "decode"):
            skipped = len(text) - len(codec.decode(symbols))
    if asked == "skip":
        findings.skipped += skipped


def _encode_rows(
    file: str,
    documents: list[str],
    text: str | bytes,
    before: int,
    codec: TextCodec,
    config: DataConfig,
) -> tuple[Symbols, list[int]]:
    """The symbols (N,) of some documents, and how many each has; `before` stand before them.

    `text` is all of them, one after the other.
    """
    if isinstance(codec, Characters):  # a symbol for a character: all of them at once
        with contextlib.suppress(DataError):
            symbols = _encode(file, text, 0, codec, config)
            if symbols.size == len(text):
                return symbols, [*map(len, documents)]
    encoded = [
        _encode(f"{file}, row {before + number}", one, 0, codec, config)
        for number, one in enumerate(documents, 1)
    ]
    return np.concatenate(encoded), [one.size for one in encoded]


def _encode(
    file: str, piece: str | bytes, offset: int, codec: TextCodec, config: DataConfig
) -> Symbols:
    """The symbols (N,) of a piece that stands at `offset`, checked; `file` is for errors."""
    try:
        with codecs.failures(type(codec), "encode"):
            symbols = np.asarray(codec.encode(piece, config.unknown))
    except UnknownSymbolError as error:
        hint = _hint(error.character, config.encoding)
        unknown = UnknownSymbolError(error.character, offset + error.offset)
        raise DataError(f"{file}: {unknown}: {hint}") from error
    if symbols.size and symbols.dtype.kind not in "iu":
        raise DataError(f"{file}: the codec {codec.name} gave {symbols.dtype} in place of integers")
    if symbols.size and not 0 <= symbols.min() <= symbols.max() < codec.size:
        raise DataError(f"{file}: the codec {codec.name} gave a symbol outside its {codec.size}")
    return symbols.astype(symbol_dtype(codec.size), copy=False)


def _hint(character: str, encoding: str) -> str:
    """What to do about a character outside the vocabulary."""
    if character == "\r":
        return "see data.newline=lf"
    if character == "\ufeff":
        without = encoding_with_mark(encoding)
        return f"a byte order mark, which data.encoding={without} leaves out"
    return "see data.unknown=skip or data.unknown=nearest"
