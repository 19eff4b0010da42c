"""The data that a checkpoint is to predict: what is named, or its own, found again."""

import dataclasses
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import files
from seqkit.data.corpus import Corpus, Part
from seqkit.data.file_search import Search
from seqkit.data.load import Known, load_corpus
from seqkit.data.sound.part import without_silence
from seqkit.data.sound.reader import oddity
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import DataError, SeqkitError
from seqkit.foundation.ranks import Session
from seqkit.runs.checkpoint import Checkpoint


def asked_for(
    asked: DataConfig,
    own_part: str,
    saved: Checkpoint,
    session: Session,
    *,
    as_validated: bool = False,
) -> tuple[Part, Corpus]:
    """What a checkpoint is to predict, and the corpus that it is from.

    That is all of `data.path`, or else a part of the checkpoint's own data, validation or test.
    `as_validated` it is that part, without the silence that the training left out, also where
    `data.path` is the checkpoint's own data, as after a move: what was learnt tells nothing.

    Raises:
        DataError: the data cannot be read, is not found, is another, or has no such part.
        ConfigError: keys that do not fit the checkpoint.
    """
    if asked.path:
        paths = files.on_disk(asked.path, session.notice, session.progress)
        data = dataclasses.replace(asked, path=paths, max_vocabulary=0)
        data = data.read_as(saved.settings.data)
    else:
        if asked != DataConfig():
            session.notice("without data.path the data are read as the checkpoint's own were")
        data = _own_data(saved, session.catalogue)
    known = Known(saved.codec, saved.labels, samples=False)
    corpus = load_corpus(data, session, known)
    is_own = corpus.sha256 == saved.data.get("sha256")
    if is_own and as_validated and asked.path:  # their parts are those that the training cut
        data = dataclasses.replace(saved.settings.data, path=data.path)
        corpus = load_corpus(data, session, known)
    if corpus.labels is not None and corpus.whole.labels is None:
        session.notice(corpus.labels.untold)
    if not (asked.path or is_own):
        raise DataError(
            f"{' and '.join(data.path) or corpus.name} is not what the checkpoint was trained on "
            "(another sha256): give data.path to evaluate other data"
        )
    part, quiet = corpus.whole, 0.0
    if is_own and (as_validated or not asked.path):
        own = saved.settings.data
        _, validation, test = corpus.split(own.split)
        kept = validation if own_part == "validation" else test
        if len(kept):
            part, quiet = kept, own.trim_silence if as_validated else 0.0
            told = f"data.path is the checkpoint's own data: of it the {own_part} part is read"
        elif asked.path:
            told = "data.path is the checkpoint's own data, all of which it learnt"
        else:
            raise DataError(
                f"the checkpoint was trained without a {own_part} part: give data.path=OTHER_DATA"
            )
        if asked.path:
            session.notice(told)
    learnt = [own for own in saved.settings.data.path if _is_near(asked.path, own)]
    if learnt and not is_own:
        session.notice(f"the checkpoint learnt from {learnt[0]}: what it knows is easy to predict")
    for said, odd in corpus.odd.items():
        session.notice(oddity(said, odd))
    if corpus.codec.kind == "audio":
        part = without_silence(part, corpus.codec, quiet)
    return part, corpus


def _is_near(paths: list[str], own: str) -> bool:
    """Whether one of some paths lies in another one, or that lies in it."""
    places = [Path(path).absolute() for path in paths]
    return any(place.is_relative_to(own) or Path(own).is_relative_to(place) for place in places)


def _own_data(saved: Checkpoint, catalogue: Catalogue) -> DataConfig:
    """The keys with which a checkpoint's own data are read.

    A checkpoint may come from anywhere, and name a device or somebody's private files. A data set
    is looked for in the catalogue. Of paths only regular files, or folders with such files, of the
    recorded size are read; before that, no more is opened than the beginnings of a folder's files,
    if these tell which are text. What has no size recorded is never read unasked.

    Raises DataError: the data is not found, or cannot be those.
    """
    data, recorded, size = saved.settings.data, saved.data.get("bytes") or 0, 0
    try:
        if data.path:
            for _, file in Search(data, saved.codec.kind).files([*map(Path, data.path)]):
                size += file.stat().st_size
                if size > recorded:  # there may be a whole disk below
                    break
            if not size or size != recorded:  # files that a system makes up have none
                shown = " and ".join(data.path)
                raise DataError(f"{shown}: not as it was, {recorded} bytes in all")
        elif data.dataset not in catalogue.names("datasets"):
            plugins = ",".join(saved.settings.plugins) or "MODULE"
            raise DataError(
                f"data.dataset={data.dataset} was not found: give plugins={plugins}, as in the "
                "training"
            )
    except (SeqkitError, OSError, ValueError) as error:  # gone by now, a name with a NUL
        known = f"the checkpoint's own data: {error}"
        raise DataError(f"{known}; else give data.path=FILE_OR_FOLDER") from error
    return data
