"""The corpus that a config names: found by path or by name, and read as text or as sound."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data import codecs, corpus_cache, labels
from seqkit.data.codecs import Codec, Quantiser, SoundCodec
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Folders, Located, Source
from seqkit.data.encoders import check_encoding
from seqkit.data.file_search import Search
from seqkit.data.labels import Labels
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError, DataError, failures_of
from seqkit.foundation.ranks import Session

_WORDS = {"text": "text", "bytes": "bytes", "audio": "sound"}


@dataclass(frozen=True)
class Known:
    """What a checkpoint decides on how data are read.

    codec: encode with this one; by default with one as configured.
    labels: all that there may be.
    grow: give the codec symbols for what is new in a text.
    samples: whether a sample may stand in for a data set that cannot be had.
    """

    codec: Codec | None = None
    labels: Labels | None = None
    grow: bool = False
    samples: bool = True


def load_corpus(
    data: DataConfig, session: Session, known: Known | None = None, readings: bool = False
) -> Corpus:
    """The corpus at `data.path`, or else of `data.dataset`; with `readings` those of its frames.

    The user is told what was skipped, resampled or downloaded.

    Raises:
        ConfigError: neither path nor data set, or keys that do not fit the codec, or the labels.
        DataError: the data cannot be read, or a file has no label.
    """
    known = known or Known()
    codec, catalogue = known.codec, session.catalogue
    if codec is not None and codec.kind == "audio":
        check_same(data, codec)
    folders = Folders(disk.cache_dir(), session.notice, session.progress, known.samples)
    source = find(data, codec, catalogue, folders)
    corpus = corpus_cache.load(source, folders.cache, session, codec, known.grow, readings)
    for note in corpus.notes:
        session.notice(note)
    if not data.label:
        return dataclasses.replace(corpus, labels=known.labels and known.labels.found_in(None))
    if codec is not None and known.labels is None:
        raise ConfigError(f"data.label={data.label}: the checkpoint learnt no labels: leave it out")
    if data.label == "folder" and len(data.path) > 1:
        raise ConfigError("data.label=folder: give one data.path, which holds the folders")
    names, documents = zip(*corpus.files, strict=True)
    found, of_documents = labels.of_files(data.label, names, documents, known.labels)
    whole = dataclasses.replace(corpus.whole, labels=of_documents)
    return dataclasses.replace(corpus, whole=whole, labels=found)


def find(data: DataConfig, codec: Codec | None, catalogue: Catalogue, folders: Folders) -> Source:
    """The data that a config names, for this codec or for a new one. Errors are `load_corpus`'s."""
    kind = _kind(data, codec, catalogue)
    located = _locate(data, catalogue, folders)
    check_encoding(data.encoding)
    search = Search(data, kind)
    found = search.named(located.paths)
    parts = {located.part_of(name) for name in found}
    for part, pattern in ((1, located.validation), (2, located.test)):
        if pattern and part not in parts:
            raise DataError(
                f"{located}: no file matches {pattern}, the {('validation', 'test')[part - 1]} "
                f"part of {located.name}"
            )
    source = Source(data, located, found, search, catalogue)
    if data.on_bad_file == "skip":
        corpus_cache.leave_out(source, codec, folders.progress)
    return source


def _kind(data: DataConfig, codec: Codec | None, catalogue: Catalogue) -> str:
    """How the data is to be read: text, bytes, audio, or auto to go by the content."""
    asked = data.kind
    if codec is None and data.codec == "auto":
        return asked
    if codec is None:
        kind, reader = codecs.find(data.codec, catalogue).kind, f"data.codec={data.codec}"
    else:
        kind, reader = codec.kind, "the checkpoint"
        if data.codec not in ("auto", codec.name):
            raise ConfigError(
                f"data.codec={data.codec}, of the recipe or the command line: the checkpoint was "
                f"trained with {codec.name}, and reads {_WORDS[kind]}"
            )
    if asked not in ("auto", kind):
        raise ConfigError(
            f"data.kind={data.kind}: {reader} reads {_WORDS[kind]}, but the recipe (or the command "
            f"line) asks for {_WORDS[asked]}"
        )
    return kind


def require_cut(data: DataConfig, name: str, files: int, documents: int) -> None:
    """Raise DataError if `data.document` cuts none of some files."""
    if data.cuts_files and files == documents:
        raise DataError(
            f"data.document={data.document} cuts nothing in {name}: give line, or the text that "
            "stands between documents"
        )


def check_same(data: DataConfig, codec: SoundCodec) -> None:
    """Raise ConfigError for keys that ask for another codec than the checkpoint's.

    Defaults ask for nothing, and data.gain says nothing of data that are read by a checkpoint.
    """
    settings: dict[str, Any] = {"sample_rate": codec.sample_rate, "channels": codec.channels}
    if isinstance(codec, Quantiser):
        settings["levels"] = codec.levels
    for key, value in settings.items():
        asked, default = getattr(data, key), getattr(DataConfig(), key)
        if asked not in (value, default):
            raise ConfigError(
                f"data.{key}={asked}, of the recipe or the command line: the checkpoint has "
                f"{value}: give data.{key}={value}"
            )


def _locate(data: DataConfig, catalogue: Catalogue, folders: Folders) -> Located:
    if data.path:
        path, *others = dict.fromkeys(map(Path, data.path))
        more = f" and {len(others)} more" if others else ""
        located = Located(path, f"{path.name or path}{more}", others=tuple(others))
    elif data.dataset:
        dataset, named = catalogue.find("datasets", data.dataset), f"data.dataset={data.dataset}"
        with failures_of(f"{named}: its locate(folders)"):
            located = dataset.locate(folders)
        if not isinstance(located, Located):
            raise ConfigError(f"{named}: locate(folders) returns no Located(path, name)")
    else:
        raise ConfigError("no data: give data.path=FILE_OR_FOLDER, or a recipe with a data.dataset")
    own = {key: value for key in ("validation", "test") if (value := getattr(data, key))}
    return dataclasses.replace(located, **own)
