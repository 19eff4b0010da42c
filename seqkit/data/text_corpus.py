"""Text and bytes on disk become a corpus, encoded once and kept in the cache.

Files are read in blocks and symbols are written to a memory-mapped file, so that memory does not
grow with the text.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs, corpus_cache
from seqkit.data.bad_files import BadFileError, BadFiles
from seqkit.data.codecs import Bytes, Characters, Codec, TextCodec, UnknownSymbolError
from seqkit.data.corpus import Corpus
from seqkit.data.corpus_cache import Encoded, Source
from seqkit.data.datasets import Located
from seqkit.data.files import Choice, Search, is_folder
from seqkit.data.text_reading import check_encoding, check_text, is_text, text_blocks
from seqkit.disk import OutputFile
from seqkit.errors import DataError
from seqkit.plugins import Catalogue
from seqkit.symbols import symbol_dtype


def load(
    config: DataConfig,
    located: Located,
    *,
    cache: Path,
    catalogue: Catalogue,
    codec: Codec | None = None,
) -> Corpus:
    """The corpus of files, and of those that are chosen in folders: each is one document.

    The files of a folder stand in the order of their names, those of the data set's own
    validation and test part last.

    Args:
        config: kind, codec, pattern, encoding, on_bad_file, unknown and max_vocabulary are read
            here.
        located: the files and folders, their name, and their own parts.
        cache: the folder for encoded data.
        catalogue: where `config.codec` is looked for.
        codec: encode with this one; by default one that fits the text.

    Raises:
        DataError: nothing to read, bytes that are not text, or characters outside the vocabulary.
        ConfigError: an encoding or a codec that does not exist.
    """
    check_encoding(config.encoding)
    assert codec is None or codec.kind != "audio"
    search = Search(choice(config, codec), BadFiles(config.on_bad_file == "skip"))
    files = search.named(located.paths)
    files = {name: file for name, file in files.items() if file.stat().st_size}
    if not files:
        raise DataError(f"{located}: the text is empty")
    source = corpus_cache.scan(located, files, cache)
    if codec is None:
        codec = _fitting_codec(config, source, catalogue)
    settings = {
        "kind": codec.kind,
        "encoding": config.encoding if codec.kind == "text" else "",
        "unknown": config.unknown,
        **_beside_defaults(config),
    }
    reading = _Reading(config, source, codec)
    corpus = corpus_cache.load(source, settings, codec, reading.encode)
    if any(map(is_folder, located.paths)):
        return dataclasses.replace(
            corpus, notes=(*corpus.notes, search.note(len(corpus.whole.starts)))
        )
    return corpus


def choice(config: DataConfig, codec: Codec | None) -> Choice:
    """Which files of a folder are read as text, or as bytes."""
    kind = config.kind if codec is None else codec.kind
    return Choice("bytes" if kind == "bytes" else "text", config.pattern, config.encoding)


def _beside_defaults(config: DataConfig) -> dict[str, Any]:
    """What else the symbols depend on; nothing by default, which keeps older keys of the cache."""
    return {"on_bad_file": "skip"} if config.on_bad_file == "skip" else {}


def _fitting_codec(config: DataConfig, source: Source, catalogue: Catalogue) -> TextCodec:
    """The codec that `config` asks for, fitted to the text."""
    kind = None if config.codec == "auto" else codecs.find(config.codec, catalogue)
    settings = {
        "kind": config.kind,
        "encoding": config.encoding,
        "max_vocabulary": config.max_vocabulary,
        "codec": config.codec,
        "code": codecs.fingerprint(kind) if kind else "",
        **_beside_defaults(config),
    }
    skip = config.on_bad_file == "skip"

    def derive() -> Codec:
        files = list(source.files.values())
        wanted = kind
        if wanted is None:
            raw = config.kind == "bytes"
            if config.kind == "auto":
                some = any if skip else all
                raw = not some(is_text(file, config.encoding) for file in files)
            wanted = Bytes if raw else Characters
        if skip and wanted.kind == "text":
            files = [file for file in files if is_text(file, config.encoding)] or files
        assert issubclass(wanted, TextCodec)
        pieces = (piece for file in files for piece in _pieces(file, wanted.kind, config.encoding))
        with codecs.failures(wanted, "fit"):
            try:
                return wanted.fit(pieces, config.max_vocabulary)
            except BadFileError as error:
                BadFiles(skip=False, several=len(files) > 1 and not skip).refuse(error)
                raise
            except ValueError as error:
                raise DataError(f"{source.located}: {error}") from error

    found = corpus_cache.find_codec(source, settings, catalogue, derive)
    assert isinstance(found, TextCodec)
    return found


def _pieces(file: Path, kind: str, encoding: str) -> Iterator[str] | Iterator[bytes]:
    return corpus_cache.blocks(file) if kind == "bytes" else text_blocks(file, encoding)


@dataclass
class _Reading:
    """One pass over the files, and how much it left out."""

    config: DataConfig
    source: Source
    codec: TextCodec
    skipped: int = 0
    bad: BadFiles = field(init=False)

    def __post_init__(self) -> None:
        skip = self.config.on_bad_file == "skip"
        self.bad = BadFiles(skip, several=len(self.source.files) > 1)

    def encode(self, stream: OutputFile) -> Encoded:
        """Write the symbols of all files."""
        located, files = self.source.located, self.source.files
        starts: list[int] = []
        part_starts: dict[int, int] = {}
        written = 0
        for name in sorted(files, key=located.part_of):  # stable: by name within a part
            starts.append(written)
            part_starts.setdefault(located.part_of(name), written)
            try:
                if self.bad.skip and self.codec.kind == "text":  # before any of it is written
                    check_text(files[name], self.config.encoding)
                written += self._write(files[name], stream)
            except BadFileError as error:
                self.bad.refuse(error)
        if not written:
            why = f": {self.bad}" if self.bad.errors else ""
            raise DataError(f"{located}: nothing is left of the text: all of it was skipped{why}")
        return Encoded(
            starts,
            skipped=self.skipped,
            notes=tuple(self._notes()),
            validation_start=part_starts.get(1),
            test_start=part_starts.get(2),
        )

    def _notes(self) -> Iterator[str]:
        if self.bad.errors:
            count, total = len(self.bad.errors), len(self.source.files)
            yield f"{count} of {total} files cannot be read: {self.bad}"
        if self.skipped:
            yield f"{self.skipped} characters outside the vocabulary were left out"

    def _write(self, file: Path, stream: OutputFile) -> int:
        """Write the symbols of one file, and return how many they are."""
        codec, unknown = self.codec, self.config.unknown
        dtype = symbol_dtype(codec.size)
        offset = written = skipped = 0
        for piece in _pieces(file, codec.kind, self.config.encoding):
            try:
                with codecs.failures(type(codec), "encode"):
                    symbols = np.asarray(codec.encode(piece, unknown))
            except UnknownSymbolError as error:
                raise DataError(
                    f"{file}: {UnknownSymbolError(error.character, offset + error.offset)}: "
                    "see data.unknown=skip|nearest"
                ) from error
            if symbols.size and symbols.dtype.kind not in "iu":
                raise DataError(
                    f"{file}: the codec {codec.name} gave {symbols.dtype} in place of integers"
                )
            if symbols.size and not 0 <= symbols.min() <= symbols.max() < codec.size:
                raise DataError(
                    f"{file}: the codec {codec.name} gave a symbol outside its {codec.size}"
                )
            stream.write(symbols.astype(dtype, copy=False).tobytes())
            if unknown == "skip":
                with codecs.failures(type(codec), "decode"):
                    skipped += len(piece) - len(codec.decode(symbols))
            offset += len(piece)
            written += symbols.size
        self.skipped += skipped
        return written
