"""The corpus that a config names: found by path or by name, and read as text or as sound."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data import audio_corpus, codecs, datasets, file_type, pipes, remote, text_corpus
from seqkit.data.bad_files import BadFiles
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Folders, Located
from seqkit.data.files import Search, check_literal, head
from seqkit.data.meter import Meter
from seqkit.data.shards import opened
from seqkit.data.shards.index import read_index
from seqkit.data.sound import reader
from seqkit.data.sound.torchaudio_import import torchaudio
from seqkit.foundation import disk
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError, SeqkitError
from seqkit.foundation.plugins import Catalogue

_FOR_TEXT, _FOR_LITTLE_SOUND, _FOR_MUCH_SOUND = "shakespeare", "my_sound", "wav_generation"
_LITTLE_SOUND = 1200.0  # seconds, up to which my_sound makes copies
_WORDS = {"text": "text", "bytes": "bytes", "audio": "sound"}


def load_corpus(
    data: DataConfig,
    *,
    catalogue: Catalogue,
    notice: Callable[[str], None],
    codec: Codec | None = None,
    trained: Mapping[str, Any] | None = None,
    grow: bool = False,
    samples: bool = True,
    progress: Progress = unseen,
    check: Callable[[str], None] = lambda sha256: None,
) -> Corpus:
    """The corpus at `data.path`, shards among what it may name, or else of `data.dataset`.

    Args:
        data: the `data.*` keys.
        catalogue: where data sets and codecs are looked for.
        notice: tells the user what was skipped, resampled or downloaded.
        codec: encode with this one, a checkpoint's; by default one as configured.
        trained: the config in that checkpoint, where keys must not ask for another gain.
        grow: give that codec symbols for what is new in a text.
        samples: whether a sample may stand in for a data set that cannot be had.
        progress: shows how far the data was downloaded, read and encoded.
        check: told the sha256 of the data before it is encoded; it may refuse it.

    Raises:
        ConfigError: neither path nor data set, or keys that do not fit the codec.
        DataError: the data cannot be read.
    """
    if folder := opened.folder_of(data):
        corpus = opened.load(data, folder, catalogue=catalogue, codec=codec, check=check)
        if trained is not None and corpus.codec.kind == "audio":
            audio_corpus.check_gain(data, trained)
        for note in corpus.notes:
            notice(note)
        return corpus
    cache = disk.cache_dir()
    sound, located = find(data, codec, catalogue, Folders(cache, notice, progress, samples))
    if codec is not None:
        _check_readable(located, codec)
    if sound and trained is not None:
        audio_corpus.check_gain(data, trained)
    meter = Meter(progress)
    if sound:
        corpus = audio_corpus.load(
            data,
            located,
            cache=cache,
            catalogue=catalogue,
            codec=codec,
            meter=meter,
            check=check,
        )
    else:
        corpus = text_corpus.load(
            data,
            located,
            cache=cache,
            catalogue=catalogue,
            codec=codec,
            grow=grow,
            meter=meter,
            check=check,
        )
    for note in corpus.notes:
        notice(note)
    if sound and torchaudio() is None:
        notice("torchaudio cannot be imported: seqkit computes the same values without it")
    return corpus


def fitting_recipe(
    data: DataConfig,
    *,
    catalogue: Catalogue,
    notice: Callable[[str], None],
    progress: Progress = unseen,
) -> str:
    """The recipe for this data where none is given. Arguments and errors are `load_corpus`'s."""
    if folder := opened.folder_of(data):
        return _recipe_for_shards(folder)
    if (data.kind, data.codec) == ("auto", "auto") and _is_mostly_sound(data):
        data = replace(data, kind="audio")
    sound, located = find(data, None, catalogue, Folders(disk.cache_dir(), notice, progress))
    return _recipe_for(located.paths, data.pattern) if sound else _FOR_TEXT


def find(
    data: DataConfig, codec: Codec | None, catalogue: Catalogue, folders: Folders
) -> tuple[bool, Located]:
    """Whether data is read as sound, and where it is. Errors are those of `load_corpus`."""
    kind = _kind(data, codec, catalogue)
    located = _locate(data, catalogue, folders)
    if kind != "auto":
        return kind == "audio", located
    sound = _is_sound(located, data.pattern)
    mostly = partial(audio_corpus.is_mostly_sound, pattern=data.pattern)
    if not sound and data.path and all(map(mostly, located.paths)):
        folders.notice(
            f"{located} is read as text, and is mostly sound: data.kind=audio reads the sound, "
            "data.kind=text the text"
        )
    return sound, located


def takes(data: DataConfig, folder: Path, name: str) -> bool:
    """Whether a file in a folder of data is read, by its name: its path in it, with / between."""
    sound = data.kind == "audio"
    if data.kind == "auto":
        sound = audio_corpus.holds_sound(folder, data.pattern)
    choice = audio_corpus.choice(data) if sound else text_corpus.choice(data, None)
    return not choice.against_name(name)


def recorded_path_problem(data: DataConfig, codec: Codec, record: Mapping[str, Any]) -> str | None:
    """Why data that a checkpoint names by path must not be read; None if it may be.

    A checkpoint may come from anywhere, and name a device or somebody's private files. Only a
    regular file, or a folder with such files, of the recorded size is read; before that, no more
    is opened than the beginnings of a folder's files, if these tell which are text. Checkpoints of
    0.1.0 recorded no size: theirs is never read unasked.

    Args:
        data: the `data.*` keys in the checkpoint's config.
        codec: the checkpoint's own.
        record: what `Corpus.record()` said in the training.
    """
    recorded = record.get("bytes")
    if recorded is None:
        return f"the checkpoint does not say how large {' and '.join(data.path)} was"
    if away := next(filter(partial(remote.is_away, data, disk.cache_dir()), data.path), None):
        key = "data.kind=hf " if data.of_rows else ""
        return f"{away} is not in the cache, and is fetched only if {key}data.path={away} is given"
    chosen = audio_corpus.choice(data) if codec.kind == "audio" else text_corpus.choice(data, codec)
    search = Search(chosen, BadFiles(data.on_bad_file == "skip"))
    shown, size = " and ".join(data.path), 0
    try:
        if folder := opened.folder_of(data):
            size = read_index(folder)[0].bytes
        else:
            for _, file in search.files([*map(Path, data.path)]):
                size += file.stat().st_size
                if size > recorded:  # there may be a whole disk below
                    break
    except SeqkitError as error:
        return str(error)
    except (OSError, ValueError) as error:  # a file that is gone by now, a name with a NUL
        return f"{shown} cannot be read: {error}"
    if not size:  # as files that a system makes up when they are read
        return f"{shown} is empty"
    if size == recorded:
        return None
    verb = "does" if len(data.path) == 1 else "do"
    return f"{shown} {verb} not have the {recorded} bytes that the checkpoint was trained on"


def suggested_recipe(data: DataConfig) -> str:
    """`fitting_recipe` in words, as far as it can be told without reading `data.path`."""
    files = [path for path in map(Path, data.path) if path.exists()]
    if data.of_rows:
        return f"recipe={_FOR_TEXT}, for text"
    if folder := opened.folder_of(data):
        recipe = _recipe_for_shards(folder)
        return f"recipe={recipe}, for {'text' if recipe == _FOR_TEXT else 'sound'}"
    if not files or any(map(pipes.is_pipe, data.path)):
        return "recipe=NAME"
    if data.kind == "audio" or all(map(audio_corpus.holds_sound, files)):
        return f"recipe={_recipe_for(files, data.pattern)}, for sound"
    if data.kind == "auto" and _is_mostly_sound(data):
        recipe = _recipe_for(files, data.pattern)
        return f"recipe={recipe}, for the sound, or recipe={_FOR_TEXT}, for the text beside it"
    return f"recipe={_FOR_TEXT}, for text"


def _is_mostly_sound(data: DataConfig) -> bool:
    """Whether `data.path` names sound, and little beside it, whatever data.kind=auto reads."""
    return bool(data.path) and all(
        audio_corpus.holds_sound(path, data.pattern)
        or audio_corpus.is_mostly_sound(path, data.pattern)
        for path in map(Path, data.path)
    )


def _recipe_for(paths: Sequence[Path], pattern: str) -> str:
    """The recipe for sound, by how much of it there is."""
    seconds = audio_corpus.seconds_of(paths, pattern, _LITTLE_SOUND)
    return _FOR_LITTLE_SOUND if seconds < _LITTLE_SOUND else _FOR_MUCH_SOUND


def _recipe_for_shards(folder: Path) -> str:
    index, _ = read_index(folder)
    if index.settings.get("kind") != "audio":
        return _FOR_TEXT
    each = ("sample_rate", "channels", "symbols_per_sample")
    rate = math.prod(index.settings.get(key, 1) for key in each)
    return _FOR_LITTLE_SOUND if index.symbols < _LITTLE_SOUND * rate else _FOR_MUCH_SOUND


def _kind(data: DataConfig, codec: Codec | None, catalogue: Catalogue) -> str:
    """How the data is to be read: text, bytes, audio, or auto to go by the content."""
    asked = "text" if data.of_rows else data.kind
    if codec is not None:
        if data.codec not in ("auto", codec.name):
            raise ConfigError(
                f"data.codec={data.codec}: the checkpoint was trained with {codec.name}; "
                "leave the key out"
            )
        if asked not in ("auto", codec.kind):
            raise ConfigError(
                f"data.kind={data.kind}: the checkpoint reads {_WORDS[codec.kind]}, but the recipe "
                f"(or the command line) asks for {_WORDS[asked]}"
            )
        return codec.kind
    if data.codec == "auto":
        return asked
    kind = codecs.find(data.codec, catalogue).kind
    if asked not in ("auto", kind):
        fitting = "" if data.of_rows else f"data.kind={kind}, or "
        raise ConfigError(
            f"data.codec={data.codec} is for {_WORDS[kind]}, and data.kind={data.kind} asks for "
            f"{_WORDS[asked]}: give {fitting}another codec"
        )
    return kind


def _check_readable(located: Located, codec: Codec) -> None:
    """Refuse sound for a checkpoint that reads text, and the other way round: no recipe helps."""
    for file in (path for path in located.paths if path.is_file()):
        sound = reader.is_sound(file)
        if codec.kind == "text" and sound:
            raise DataError(f"{file} is sound, and this checkpoint reads text")
        if codec.kind == "audio" and not sound and file_type.is_text(head(file), "utf-8"):
            raise DataError(f"{file} is text, and this checkpoint reads sound")


def _is_sound(located: Located, pattern: str) -> bool:
    """Whether data of no kind is sound. Raises DataError for text and sound together."""
    sound = [audio_corpus.holds_sound(path, pattern) for path in located.paths]
    if any(sound) and not all(sound):
        raise DataError(
            f"{located.paths[sound.index(True)]} is sound and "
            f"{located.paths[sound.index(False)]} is not: a model learns from one of them"
        )
    return all(sound)


def _locate(data: DataConfig, catalogue: Catalogue, folders: Folders) -> Located:
    if data.path:
        check_literal(data)
        path, *others = map(Path, data.path)
        return Located(path, path.name or str(path), others=tuple(others))
    if data.dataset:
        return datasets.locate(data.dataset, catalogue, folders)
    raise ConfigError("no data: give data.path=FILE_OR_FOLDER, or a recipe with a data.dataset")
