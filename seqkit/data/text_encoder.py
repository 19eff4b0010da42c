"""Files of text become symbols: read in blocks, encoded, and reported on.

Memory does not grow with the text.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs, line_documents
from seqkit.data.bad_files import BadFileError, BadFiles
from seqkit.data.codecs import Characters, TextCodec, UnknownSymbolError
from seqkit.data.corpus_cache import Encoded, Source
from seqkit.data.files import blocks
from seqkit.data.meter import Meter
from seqkit.data.text_findings import LineEnds, TextFindings
from seqkit.data.text_reading import check_text, encoding_with_mark, text_blocks
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import DataError
from seqkit.symbols import Symbols, symbol_dtype


def pieces_of(
    file: Path,
    kind: str,
    config: DataConfig,
    meter: Meter,
    begin: int = 0,
    end: int | None = None,
) -> Iterator[str | bytes]:
    """The content of a file, or of some bytes of it, for a codec of text or bytes.

    Raises:
        BadFileError: it cannot be read.
    """
    return (piece for _, piece in _read(file, kind, config, meter, begin, end))


def _read(
    file: Path, kind: str, config: DataConfig, meter: Meter, begin: int, end: int | None
) -> Iterator[tuple[list[str] | None, str | bytes]]:
    """The same, and before each piece the documents that make it; None where the file is one."""
    if config.of_rows:
        for documents in line_documents.batches(file, config.newline, meter.add, begin, end):
            yield documents, "".join(documents)
        return
    pieces: Iterator[str] | Iterator[bytes] = (
        blocks(file, meter.add, begin, end)
        if kind == "bytes"
        else text_blocks(file, config.encoding, config.newline, meter.add, begin, end)
    )
    for piece in pieces:
        yield None, piece


@dataclass
class Texts:
    """The files of a text, encoded with a codec, and what was found in them on the way."""

    config: DataConfig
    source: Source
    codec: TextCodec
    seen: TextFindings = field(init=False)
    bad: BadFiles = field(init=False)

    def __post_init__(self) -> None:
        self.seen = TextFindings(self.config)
        skip = self.config.on_bad_file == "skip"
        self.bad = BadFiles(skip, several=len(self.source.files) > 1)

    def encode(self, stream: OutputFile) -> Encoded:
        """Write the symbols of all files."""
        located, files = self.source.located, self.source.files
        starts: list[int] = []
        part_starts: dict[int, int] = {}
        written = 0
        for name in sorted(files, key=located.part_of):  # stable: by name within a part
            part_starts.setdefault(located.part_of(name), written)
            try:
                if self.bad.skip and self.codec.kind == "text":  # before any of it is written
                    check_text(files[name], self.config.encoding)
                for size in self.write(files[name], stream):
                    starts.append(written)
                    written += size
            except BadFileError as error:
                self.bad.leave_out(error)
        if not written:
            why = f": {self.bad}" if self.bad.errors else ""
            raise DataError(f"{located}: nothing is left of the text: all of it was skipped{why}")
        return Encoded(
            starts,
            skipped=self.seen.skipped,
            unreadable_files=len(self.bad.errors),
            notes=tuple(self.notes()),
            validation_start=part_starts.get(1),
            test_start=part_starts.get(2),
        )

    def findings(self) -> dict[str, Any]:
        """What was found on the way, as JSON values; `include` takes it in elsewhere."""
        return self.seen.as_json()

    def include(self, findings: Mapping[str, Any]) -> None:
        """Take in what was found in other files, or in other bytes of the same ones."""
        self.seen.include(findings)

    def notes(self) -> Iterator[str]:
        """What the user is told about the text."""
        if self.bad.errors:
            count, total = len(self.bad.errors), len(self.source.files)
            yield f"{count} of {total} files cannot be read: {self.bad}"
        yield from self.seen.notes(self.codec)

    def write(
        self, file: Path, stream: OutputFile, begin: int = 0, end: int | None = None
    ) -> list[int]:
        """Write the symbols of one file, or of some bytes of it.

        Returns:
            How many symbols each of its documents has: of a file that holds rows one a row.
        """
        shown = f"{file}, after byte {begin}" if begin else str(file)
        sizes, ends = list[int](), LineEnds()
        offset = 0
        kind, meter = self.codec.kind, self.source.meter
        for documents, text in _read(file, kind, self.config, meter, begin, end):
            if documents is None:
                symbols = self._encode(shown, text, offset)
                sizes = [sum(sizes) + symbols.size]
            else:
                symbols, found = self._encode_rows(shown, documents, text, len(sizes))
                sizes += found
            stream.write(np.ascontiguousarray(symbols).data)
            self._count_unknown(text, symbols)
            if isinstance(text, str):
                if not offset and not begin and text.startswith("\ufeff"):
                    self.seen.marked.append(file)
                ends.look_at(text)
            offset += len(text)
        self.seen.add_line_ends(file, ends)
        return sizes

    def _count_unknown(self, text: str | bytes, symbols: Symbols) -> None:
        """Take in which characters of a text were left out of its symbols (N,), or replaced."""
        asked, skipped = self.config.unknown, 0
        if asked == "error":
            return
        if isinstance(self.codec, Characters) and isinstance(text, str):
            unknown = self.codec.unknown_in(text)
            self.seen.unknown.update(unknown)
            skipped = unknown.total()
        elif asked == "skip":
            with codecs.failures(type(self.codec), "decode"):
                skipped = len(text) - len(self.codec.decode(symbols))
        if asked == "skip":
            self.seen.skipped += skipped

    def _encode_rows(
        self, file: str, documents: list[str], text: str | bytes, before: int
    ) -> tuple[Symbols, list[int]]:
        """The symbols (N,) of some documents, and how many each has; `before` stand before them.

        `text` is all of them, one after the other.
        """
        if isinstance(self.codec, Characters):  # a symbol for a character: all of them at once
            with contextlib.suppress(DataError):
                symbols = self._encode(file, text, 0)
                if symbols.size == len(text):
                    return symbols, [*map(len, documents)]
        encoded = [
            self._encode(f"{file}, row {before + number}", one, 0)
            for number, one in enumerate(documents, 1)
        ]
        return np.concatenate(encoded), [one.size for one in encoded]

    def _encode(self, file: str, piece: str | bytes, offset: int) -> Symbols:
        """The symbols (N,) of a piece that stands at `offset`, checked; `file` is for errors."""
        codec = self.codec
        try:
            with codecs.failures(type(codec), "encode"):
                symbols = np.asarray(codec.encode(piece, self.config.unknown))
        except UnknownSymbolError as error:
            hint = self._hint(error.character)
            unknown = UnknownSymbolError(error.character, offset + error.offset)
            raise DataError(f"{file}: {unknown}: {hint}") from error
        if symbols.size and symbols.dtype.kind not in "iu":
            raise DataError(
                f"{file}: the codec {codec.name} gave {symbols.dtype} in place of integers"
            )
        if symbols.size and not 0 <= symbols.min() <= symbols.max() < codec.size:
            raise DataError(
                f"{file}: the codec {codec.name} gave a symbol outside its {codec.size}"
            )
        return symbols.astype(symbol_dtype(codec.size), copy=False)

    def _hint(self, character: str) -> str:
        """What to do about a character outside the vocabulary."""
        if character == "\r":
            return "see data.newline=lf"
        if character == "\ufeff":
            without = encoding_with_mark(self.config.encoding)
            return f"a byte order mark, which data.encoding={without} leaves out"
        return "see data.unknown=skip or data.unknown=nearest"
