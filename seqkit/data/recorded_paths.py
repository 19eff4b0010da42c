"""Whether the data that a checkpoint names by path may be read unasked."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data import remote
from seqkit.data.codecs import Codec
from seqkit.data.load import search_of
from seqkit.data.shards import opened
from seqkit.data.shards.index import read_index
from seqkit.foundation import disk
from seqkit.foundation.errors import SeqkitError


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
    search = search_of(data, codec.kind)
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
