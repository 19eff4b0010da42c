"""Text and bytes on disk become a corpus, encoded once and kept in the cache.

Files are read in blocks and symbols are written to a memory-mapped file, so that memory does not
grow with the text.
"""

import codecs as encodings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs, corpus_cache
from seqkit.data.codecs import Bytes, Characters, Codec, TextCodec, UnknownSymbolError
from seqkit.data.corpus import Corpus
from seqkit.data.corpus_cache import Encoded, Source
from seqkit.data.datasets import Located
from seqkit.disk import OutputFile
from seqkit.errors import ConfigError, DataError
from seqkit.plugins import Catalogue
from seqkit.symbols import symbol_dtype


def load(
    config: DataConfig,
    located: Located,
    *,
    cache: Path,
    catalogue: Catalogue,
    codec: Codec | None = None,
    grow: bool = False,
) -> Corpus:
    """The corpus of a file, or of a folder whose .txt files (any depth) are one document each.

    The files of a folder stand in the order of their names, those of the data set's own
    validation and test part last.

    Args:
        config: kind, codec, encoding, unknown and max_vocabulary are read here.
        located: the file or folder, its name, and its own parts.
        cache: the folder for encoded data.
        catalogue: where `config.codec` is looked for.
        codec: encode with this one; by default one that fits the text.
        grow: give that codec symbols for what is new in the text.

    Raises:
        DataError: nothing to read, bytes that are not text, or characters outside the vocabulary.
        ConfigError: an encoding or a codec that does not exist.
    """
    _check_encoding(config.encoding)
    source = corpus_cache.scan(located, _files_of(located), cache)
    assert codec is None or isinstance(codec, TextCodec)
    if codec is None:
        codec = _fitting_codec(config, source, catalogue)
    elif grow:
        codec = _grown_codec(config, source, catalogue, codec)
    settings = {
        "kind": codec.kind,
        "encoding": config.encoding if codec.kind == "text" else "",
        "unknown": config.unknown,
    }
    reading = _Reading(config, source, codec)
    return corpus_cache.load(source, settings, codec, reading.encode)


def files_in(folder: Path) -> Iterator[Path]:
    """The files of text in a folder, at any depth."""
    return (file for file in folder.rglob("*") if file.suffix == ".txt" and file.is_file())


def _files_of(located: Located) -> dict[str, Path]:
    files = corpus_cache.listing(located, files_in, ".txt file")
    files = {name: file for name, file in files.items() if file.stat().st_size}
    if not files:
        raise DataError(f"{located}: the text is empty")
    return files


def _fitting_codec(config: DataConfig, source: Source, catalogue: Catalogue) -> TextCodec:
    """The codec that `config` asks for, fitted to the text."""
    kind = None if config.codec == "auto" else codecs.find(config.codec, catalogue)
    settings = {
        "kind": config.kind,
        "encoding": config.encoding,
        "max_vocabulary": config.max_vocabulary,
        "codec": config.codec,
        "code": codecs.fingerprint(kind) if kind else "",
    }

    def derive() -> Codec:
        files = list(source.files.values())
        wanted = kind
        if wanted is None:
            raw = config.kind == "bytes"
            if config.kind == "auto":
                raw = not _is_text(files, config.encoding)
            wanted = Bytes if raw else Characters
        assert issubclass(wanted, TextCodec)
        pieces = (piece for file in files for piece in _pieces(file, wanted.kind, config.encoding))
        with codecs.failures(wanted, "fit"):
            try:
                return wanted.fit(pieces, config.max_vocabulary)
            except ValueError as error:
                raise DataError(f"{source.located}: {error}") from error

    found = corpus_cache.find_codec(source, settings, catalogue, derive)
    assert isinstance(found, TextCodec)
    return found


def _grown_codec(
    config: DataConfig, source: Source, catalogue: Catalogue, codec: TextCodec
) -> TextCodec:
    """A codec with symbols for what is new in the text."""
    settings = {
        "grown": codec.to_spec(),
        "encoding": config.encoding,
        "max_vocabulary": config.max_vocabulary,
        "code": codecs.fingerprint(type(codec)),
    }

    def derive() -> Codec:
        files = source.files.values()
        pieces = (piece for file in files for piece in _pieces(file, codec.kind, config.encoding))
        with codecs.failures(type(codec), "grown"):
            grown = codec.grown(pieces, config.max_vocabulary)
            if not isinstance(grown, type(codec)):
                raise TypeError(f"it gave a {type(grown).__name__}")
            return grown

    found = corpus_cache.find_codec(source, settings, catalogue, derive)
    assert isinstance(found, TextCodec)
    return found


def _check_encoding(encoding: str) -> None:
    try:
        info = encodings.lookup(encoding)
    except (LookupError, ValueError):
        info = None
    if info is None or not getattr(info, "_is_text_encoding", True):
        raise ConfigError(
            f"data.encoding={encoding}: no such text encoding; utf-8 and latin-1 are two"
        )


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


def _pieces(file: Path, kind: str, encoding: str) -> Iterator[str] | Iterator[bytes]:
    return corpus_cache.blocks(file) if kind == "bytes" else _text_blocks(file, encoding)


@dataclass
class _Reading:
    """One pass over the files, and how much it left out."""

    config: DataConfig
    source: Source
    codec: TextCodec
    skipped: int = 0

    def encode(self, stream: OutputFile) -> Encoded:
        """Write the symbols of all files."""
        located, files = self.source.located, self.source.files
        starts: list[int] = []
        part_starts: dict[int, int] = {}
        written = 0
        for name in sorted(files, key=located.part_of):  # stable: by name within a part
            starts.append(written)
            part_starts.setdefault(located.part_of(name), written)
            written += self._write(files[name], stream)
        if not written:
            raise DataError(f"{located}: nothing is left of the text: all of it was skipped")
        left_out = f"{self.skipped} characters outside the vocabulary were left out"
        return Encoded(
            starts,
            skipped=self.skipped,
            notes=(left_out,) if self.skipped else (),
            validation_start=part_starts.get(1),
            test_start=part_starts.get(2),
        )

    def _write(self, file: Path, stream: OutputFile) -> int:
        """Write the symbols of one file, and return how many they are."""
        codec, unknown = self.codec, self.config.unknown
        dtype = symbol_dtype(codec.size)
        offset = written = 0
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
                    self.skipped += len(piece) - len(codec.decode(symbols))
            offset += len(piece)
            written += symbols.size
        return written
