"""`prepare`: files of text, bytes or sound become shards in a folder that the user names.

New shards are written beside old ones, under other names; the index, which is replaced at once,
says which ones count.
"""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data.datasets import Folders
from seqkit.data.files import Meter
from seqkit.data.findings import Findings
from seqkit.data.load import find, require_cut
from seqkit.data.shards.codec_choice import CodecChoice, choose_codec
from seqkit.data.shards.index import (
    INDEX,
    UNFINISHED,
    Index,
    asked_for,
    digest,
    is_shards,
    read_checked,
    read_index,
    write_checked,
)
from seqkit.data.shards.plan import Pool
from seqkit.data.shards.writing import lock, write_shards
from seqkit.foundation import disk, half_written
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError, OutputError

_OWN = re.compile(
    r"\d{6,}(-[0-9a-f]{8})?\.(bin|json)|starts(-[0-9a-f]{8})?\.int64|(index|prepare)\.json"
)
_FORMAT = 3  # of what is kept of shards that are not finished


def prepare(
    data: DataConfig,
    out: Path,
    *,
    catalogue: Catalogue,
    notice: Callable[[str], None],
    overwrite: bool = False,
    progress: Progress = unseen,
) -> Index:
    """Turn `data.path`, or `data.dataset`, into shards, or go on with what was begun in `out`.

    Args:
        data: the `data.*` keys.
        out: the folder of the shards.
        catalogue: where data sets and codecs are looked for.
        notice: tells the user what was found.
        overwrite: replace shards that are there, once the new ones are whole.
        progress: shows how far the files were read.

    Raises:
        ConfigError: neither path nor data set, or keys that do not fit the codec.
        DataError: the data cannot be read, or changed while it was read.
        OutputError: `out` holds something else, or cannot be written.
        DeviceError: a process was killed.
    """
    source = find(data, None, catalogue, Folders(disk.cache_dir(), notice, progress))
    for path in source.located.paths:
        if is_shards(path):
            raise DataError(f"{path} holds shards already: a training reads them as they are")
        if out.resolve().is_relative_to(path.resolve()):
            raise ConfigError(f"out={out} lies in data.path: give a folder outside of it")
    pool = Pool(None, Meter(progress))
    with _claimed(out, overwrite=overwrite):
        asked = digest({"format": _FORMAT, "files": source.identity, **asked_for(data)})
        begun = _begun(out, asked, overwrite=overwrite) or _begin(
            out, asked, choose_codec(source, pool)
        )
        index, codec = write_shards(source, CodecChoice(**begun["fit"]), out, begun["suffix"], pool)
        require_cut(data, index.name, len(index.names), index.document_count)
        index.save(out)
        _remove_all_but(out, _files_of(index))
    for note in source.notes(Findings.from_json(index.findings), codec):
        notice(note)
    return index


@contextlib.contextmanager
def _claimed(folder: Path, *, overwrite: bool) -> Iterator[None]:
    """Keep a folder for this process; it is made, and half files are removed from it.

    Raises:
        OutputError: the folder holds something else, or whole shards and `overwrite` is false, or
            another process has it.
    """
    new = disk.make_folder(folder)
    _check(folder, overwrite=overwrite)
    with lock(folder, wait=False):
        try:
            yield
        finally:
            for half in folder.glob(half_written.PATTERN):
                disk.remove(half)
            if new and not any(folder.iterdir()):  # nothing was begun
                disk.remove_folder(folder)


def _check(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder with anything but shards in it, or with whole ones."""
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise OutputError(f"{folder}: cannot be read: {disk.describe(error)}") from error
    finished = is_shards(folder)
    begun = finished or read_checked(folder / UNFINISHED) is not None
    for name in names:
        half = Path(name).match(half_written.PATTERN)
        if not half and not (begun and _OWN.fullmatch(name)):
            raise OutputError(f"{folder} holds {name}, which is no shard: give a new folder as out")
    if finished and not overwrite:
        raise OutputError(
            f"{folder} holds shards: train with data.path={folder}; to prepare others, or these "
            "anew, give another out, or overwrite=true"
        )


def _begun(folder: Path, asked: str, *, overwrite: bool) -> dict[str, Any] | None:
    """What is written down of a preparation in a folder; None if there is none."""
    begun = read_checked(folder / UNFINISHED)
    if begun is None or begun.get("asked") == asked:
        return begun
    if not overwrite:
        raise OutputError(
            f"{folder} contains an unfinished preparation of other files, or with other settings: "
            "give another out, or overwrite=true"
        )
    return None


def _begin(folder: Path, asked: str, choice: CodecChoice) -> dict[str, Any]:
    """Write down what is prepared, and remove what was done of something else."""
    kept = list[str]()
    with contextlib.suppress(DataError):
        kept = _files_of(read_index(folder)[0])
    suffix = f"-{asked[:8]}" if kept and "-" not in kept[0] else ""
    disk.remove(folder / UNFINISHED)
    _remove_all_but(folder, kept)
    begun = {"asked": asked, "suffix": suffix, "fit": dataclasses.asdict(choice)}
    write_checked(folder / UNFINISHED, begun)
    return begun


def _files_of(index: Index) -> list[str]:
    """The names of the files that belong to an index, and of itself."""
    return [*(shard.file for shard in index.shards), index.starts, INDEX]


def _remove_all_but(folder: Path, kept: Collection[str]) -> None:
    """Remove all other files that a preparation writes; what is written down of it comes last."""
    names = {entry.name for entry in folder.iterdir()} - {*kept, UNFINISHED}
    for name in names:
        if _OWN.fullmatch(name):
            disk.remove(folder / name)
    disk.remove(folder / UNFINISHED)
