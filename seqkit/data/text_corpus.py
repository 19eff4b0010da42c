"""Text and bytes on disk become a corpus, encoded once and kept in the cache."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data import codecs, corpus_cache, file_type
from seqkit.data.bad_files import BadFileError, BadFiles
from seqkit.data.codecs import Bytes, Characters, Codec, TextCodec
from seqkit.data.corpus import Corpus
from seqkit.data.corpus_cache import Source
from seqkit.data.datasets import Located
from seqkit.data.files import Search, head
from seqkit.data.folder_walk import is_folder
from seqkit.data.meter import Meter
from seqkit.data.text_encoder import Texts, pieces_of
from seqkit.data.text_reading import check_encoding, check_plain, is_text, table_hints
from seqkit.foundation.errors import DataError
from seqkit.foundation.plugins import Catalogue


def load(
    config: DataConfig,
    located: Located,
    found: Mapping[str, Path],
    search: Search,
    *,
    cache: Path,
    catalogue: Catalogue,
    codec: Codec | None = None,
    grow: bool = False,
    meter: Meter,
    check: Callable[[str], None] = lambda sha256: None,
) -> Corpus:
    """The corpus of files, and of those that are chosen in folders: each is one document.

    The files of a folder stand in the order of their names, those of the data set's own
    validation and test part last.

    Args:
        config: kind, codec, pattern, encoding, on_bad_file, unknown and max_vocabulary are read
            here.
        located: the files and folders, their name, and their own parts.
        found: the files that are read, by name.
        search: how they were found.
        cache: the folder for encoded data.
        catalogue: where `config.codec` is looked for.
        codec: encode with this one; by default one that fits the text.
        grow: give that codec symbols for what is new in the text.
        meter: shows how far it was read.
        check: told the sha256 of what is read, before it is encoded.

    Raises:
        DataError: nothing to read, bytes that are not text, or characters outside the vocabulary.
        ConfigError: an encoding or a codec that does not exist.
    """
    assert codec is None or isinstance(codec, TextCodec)
    trains = codec is None or grow
    files = readable(config, located, found, search)
    folders = any(map(is_folder, located.paths))
    source = corpus_cache.scan(located, files, cache, meter)
    check(source.sha256)
    if codec is None:
        codec = _fitting_codec(config, source, catalogue)
    elif grow:
        codec = _grown_codec(config, source, catalogue, codec)
    settings = {
        "kind": codec.kind,
        "encoding": config.encoding if codec.kind == "text" else "",
        "unknown": config.unknown,
        **_beside_defaults(config),
    }
    corpus = corpus_cache.load(source, settings, codec, Texts(config, source, codec).encode)
    notes = [*corpus.notes]
    if codec.kind == "text" and trains:
        notes += table_hints(files.values(), config)
    if codec.kind == "bytes" and (config.kind, config.codec) == ("auto", "auto"):
        notes.append("not text: read as bytes, as with data.kind=bytes")
    if folders or search.left_out or search.bad.errors:
        notes.append(search.note(len(corpus.whole.starts)))
    return dataclasses.replace(
        corpus,
        notes=tuple(notes),
        unreadable_files=corpus.unreadable_files + len(search.bad.errors),
    )


def readable(
    config: DataConfig, located: Located, found: Mapping[str, Path], search: Search
) -> dict[str, Path]:
    """The files that hold something, and nothing but text if that is what is looked for.

    Errors are those of `load`; files that may be left out are noted in `search`.
    """
    check_encoding(config.encoding)
    files = {**found}
    if search.choice.kind == "text":
        files = _plain(files, config.encoding, search.bad)
    full = {name: file for name, file in files.items() if file.stat().st_size}
    if not full:
        raise DataError(f"{located}: the text is empty")
    if len(full) < len(files):
        search.left_out["empty"] += len(files) - len(full)
    return full


def _plain(files: dict[str, Path], encoding: str, bad: BadFiles) -> dict[str, Path]:
    """The files without those that are known to be something else than text.

    Raises:
        DataError: there is one, and it may not be left out; or no others are left.
    """
    kept = {}
    for name, file in files.items():
        try:
            check_plain(file, encoding)
        except BadFileError as error:
            if len(files) == 1:
                raise
            bad.leave_out(error)
        else:
            kept[name] = file
    if not kept:
        raise bad.errors[-1]
    return kept


def _beside_defaults(config: DataConfig) -> dict[str, Any]:
    """What else the symbols depend on; nothing by default, which keeps older keys of the cache."""
    defaults = DataConfig()
    values = {key: getattr(config, key) for key in ("newline", "on_bad_file", "of_rows")}
    return {key: value for key, value in values.items() if value != getattr(defaults, key)}


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

    def derive() -> Codec:
        wanted = codec_kind(config, source.files.values(), catalogue)
        with codecs.failures(wanted, "fit"):
            try:
                with _content(config, source, wanted.kind, "finding the characters") as pieces:
                    return wanted.fit(pieces, config.max_vocabulary)
            except ValueError as error:
                raise DataError(f"{source.located}: {error}") from error

    found = corpus_cache.find_codec(source, settings, catalogue, derive)
    assert isinstance(found, TextCodec)
    return found


def codec_kind(config: DataConfig, files: Iterable[Path], catalogue: Catalogue) -> type[TextCodec]:
    """The class of codecs for some files, as `config` asks for it, or by their content."""
    if config.codec != "auto":
        kind = codecs.find(config.codec, catalogue)
        assert issubclass(kind, TextCodec)
        return kind
    raw = config.kind == "bytes"
    if config.kind == "auto":
        raw = not any(_seems_text(file, config.encoding) for file in files)
    return Bytes if raw else Characters


def _seems_text(file: Path, encoding: str) -> bool:
    """Whether data.kind=auto takes a file for text: if it is in another encoding, that is told."""
    with contextlib.suppress(BadFileError):
        return file_type.is_text(head(file), encoding) or is_text(file, encoding)
    return False


def _grown_codec(
    config: DataConfig, source: Source, catalogue: Catalogue, codec: TextCodec
) -> TextCodec:
    """A codec with symbols for what is new in the text."""
    settings = {
        "grown": codec.to_spec(),
        "encoding": config.encoding,
        "max_vocabulary": config.max_vocabulary,
        "code": codecs.fingerprint(type(codec)),
        **_beside_defaults(config),
    }

    def derive() -> Codec:
        with (
            codecs.failures(type(codec), "grown"),
            _content(config, source, codec.kind, "finding new characters") as pieces,
        ):
            grown = codec.grown(pieces, config.max_vocabulary)
            if not isinstance(grown, type(codec)):
                raise TypeError(f"it gave a {type(grown).__name__}")
            return grown

    found = corpus_cache.find_codec(source, settings, catalogue, derive)
    assert isinstance(found, TextCodec)
    return found


@contextlib.contextmanager
def _content(config: DataConfig, source: Source, kind: str, title: str) -> Iterator[Iterator[Any]]:
    """The texts, or bytes, that a codec is made from, shown as they are read.

    Raises:
        DataError: a file cannot be read. Bad ones are left out where they may be, and others are
            left.
    """
    files = list(source.files.values())
    skip = config.on_bad_file == "skip"
    if skip and kind == "text":
        files = [file for file in files if is_text(file, config.encoding)] or files
    with source.meter.shown(title, source.bytes):
        try:
            yield (piece for file in files for piece in pieces_of(file, kind, config, source.meter))
        except BadFileError as error:
            raise error.refusal(hint=len(files) > 1 and not skip) from error
