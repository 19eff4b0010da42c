"""The corpus that a config names: found by path or by name, and read as text or as sound."""

from collections.abc import Callable
from pathlib import Path

from seqkit import disk
from seqkit.config import DataConfig
from seqkit.data import audio, datasets, text
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Folders, Located
from seqkit.errors import ConfigError


def load_corpus(
    data: DataConfig, *, notice: Callable[[str], None], codec: Codec | None = None
) -> Corpus:
    """The corpus at `data.path`, or else of `data.dataset`.

    Args:
        data: the `data.*` keys.
        notice: tells the user what was skipped, resampled or downloaded.
        codec: encode with this one, a checkpoint's; by default one as configured.

    Raises:
        ConfigError: neither path nor data set, or keys that do not fit the codec.
        DataError: the data cannot be read.
    """
    cache = disk.cache_dir()
    located = _locate(data, Folders(cache, notice))
    if _is_sound(data, located, codec):
        if codec is not None and not isinstance(codec, Quantiser):
            raise ConfigError(
                "data.kind=audio: the checkpoint reads text, but the recipe (or the command line) "
                "asks for sound"
            )
        corpus = audio.load(data, located, cache, codec)
    elif isinstance(codec, Quantiser):
        raise ConfigError(
            f"data.kind={data.kind}: the checkpoint reads sound, but the recipe (or the "
            "command line) asks for text"
        )
    else:
        corpus = text.load(data, located.path, located.name, cache, codec)
    for note in corpus.notes:
        notice(note)
    return corpus


def _locate(data: DataConfig, folders: Folders) -> Located:
    if data.path:
        path = Path(data.path)
        return Located(path, path.name or str(path))
    if data.dataset:
        return datasets.locate(data.dataset, folders)
    raise ConfigError("no data: give data.path=FILE_OR_FOLDER, or a recipe with a data.dataset")


def _is_sound(data: DataConfig, located: Located, codec: Codec | None) -> bool:
    if data.kind == "auto":
        return isinstance(codec, Quantiser) or (codec is None and audio.holds_sound(located.path))
    return data.kind == "audio"
