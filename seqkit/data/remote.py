"""Data at a URL is copied into the cache, and read from there as any other.

The copy of a URL lies in a folder of its own, `remote/KEY/`, and `remote/KEY.jsonl` has a line for
each file that came whole. A file is copied again only if the store says that it changed.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from seqkit.config import DataConfig
from seqkit.data import file_hashes, huggingface, pipes
from seqkit.data.files import Choice
from seqkit.data.fsspec_store import Entry, Store
from seqkit.data.meter import Meter
from seqkit.foundation import disk
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError, OutputError
from seqkit.foundation.wording import counted

Notice = Callable[[str], None]


def is_remote(path: str) -> bool:
    """Whether a path is a URL, such as s3://bucket/folder."""
    return "://" in path


def is_away(data: DataConfig, cache: Path, path: str) -> bool:
    """Whether a path of `kept` is a URL, or a data set, that has no copy in the cache."""
    return huggingface.is_away(path, cache) if data.of_rows else is_remote(path)


def absolute(data: DataConfig) -> list[str]:
    """The paths as they are known from every folder; URLs are already."""
    if data.of_rows:
        return [huggingface.absolute(path) for path in data.path]
    return [path if is_remote(path) else str(Path(path).absolute()) for path in data.path]


def settled(
    data: DataConfig, cache: Path, notice: Notice, progress: Progress = unseen
) -> DataConfig:
    """The keys with files of the cache in the place of streams, URLs and data sets.

    Raises what `pipes.settled` and `here` raise.
    """
    files = pipes.settled(data.path, cache, notice, progress)
    return here(replace(data, path=files), cache, notice, progress)


def here(data: DataConfig, cache: Path, notice: Notice, progress: Progress = unseen) -> DataConfig:
    """The keys with copies in the cache in the place of URLs, or of data sets.

    Raises:
        ConfigError: keys of data sets without data.kind=hf, or of files with it; and as `fetched`.
        DataError: as `fetched` and `huggingface.fetched`.
    """
    if not data.of_rows:
        defaults = DataConfig()
        for key in ("column", "hf_split", "hf_subset"):
            if (given := getattr(data, key)) != getattr(defaults, key):
                raise ConfigError(f"data.{key}={given} is for data sets: give data.kind=hf, too")
        copies = fetched(data.path, data.pattern, cache, notice, progress)
        return replace(data, path=copies)
    for path in filter(is_remote, data.path):
        raise ConfigError(f"data.path={path}: data.kind=hf takes the name of a data set, no URL")
    if not data.path:
        raise ConfigError("data.kind=hf: give data.path=NAME, a data set on the hub or a folder")
    for key in ("encoding", "pattern"):
        if (given := getattr(data, key)) != getattr(DataConfig(), key):
            raise ConfigError(f"data.{key}={given} is for files: leave it out with data.kind=hf")
    meter = Meter(progress)
    rows = [str(huggingface.fetched(path, data, cache, notice, meter)) for path in data.path]
    return replace(data, path=rows)


def fetched(
    paths: Sequence[str],
    pattern: str,
    cache: Path,
    notice: Notice,
    progress: Progress = unseen,
) -> list[str]:
    """The paths, with the copy in the cache in the place of each URL.

    Args:
        paths: of files and folders, or URLs.
        pattern: `data.pattern`, which files of a folder are copied.
        cache: where the copies are.
        notice: tells the user what was copied.
        progress: shows how far that is.

    Raises:
        ConfigError: what reads such URLs is not installed.
        DataError: there is no such file or folder, or it cannot be read whole, or it changed.
        OutputError: the cache cannot be written, or its disk is full.
    """
    return [
        str(_fetch(path, pattern, cache, notice, Meter(progress))) if is_remote(path) else path
        for path in paths
    ]


def kept(data: DataConfig, cache: Path) -> DataConfig:
    """The keys with the copy in the place of each URL, or data set, that was fetched.

    No store is asked.
    """
    copies = {
        path: huggingface.copy_of(path, data, cache) for path in data.path if data.of_rows
    } or {path: copy_of(path, cache) for path in data.path if is_remote(path)}
    found = {path: str(copy) for path, copy in copies.items() if copy.exists()}
    return replace(data, path=[found.get(path, path) for path in data.path])


def copy_of(url: str, cache: Path) -> Path:
    """Where the copy of a URL is, or would be; it is called as the last part of the URL is."""
    parts = urlsplit(url.partition("::")[0])
    name = unquote(parts.path.rstrip("/")).rpartition("/")[2] or parts.netloc
    if name.strip(".") == "" or "\0" in name:
        name = "data"
    return _folder(url, cache) / name


def _folder(url: str, cache: Path) -> Path:
    return (cache / "remote").absolute() / hashlib.sha256(url.encode()).hexdigest()[:32]


def _fetch(url: str, pattern: str, cache: Path, notice: Notice, meter: Meter) -> Path:
    """Bring the copy of a URL up to date, and say where it is."""
    store, target = Store(url), copy_of(url, cache)
    found = store.files()
    chosen = _chosen(found, pattern)
    if not chosen:
        which = f" that matches {pattern}" if pattern else ""
        raise DataError(f"{url}: the folder holds no file{which}")
    journal = _folder(url, cache).with_suffix(".jsonl")
    known = _read(journal)
    new = [
        entry
        for entry in chosen
        if not _is_whole(_place(target, entry), known.get(entry.name, {}), entry, journal, meter)
    ]
    if new:
        size = sum(entry.size or 0 for entry in new)
        notice(f"{url}: fetching {counted(len(new), 'file')}, {size / 1e6:,.1f} MB")
        _clear_way(target, folder=bool(chosen[0].name))
        with meter.shown(f"fetching {target.name}", size):
            for entry in new:
                _copy(store, entry, _place(target, entry), journal, meter)
        if _chosen(store.files(), pattern) != chosen:
            raise DataError(f"{url}: changed while it was fetched: give the same command again")
    _forget_others(target, _chosen(found, ""))
    unsure = not all(entry.tells_changes for entry in chosen)
    advice = "; its server does not say whether it changed: remove the copy if it did"
    notice(f"{url}: read from its copy, {target}{advice if unsure and not new else ''}")
    return target


def _chosen(found: Iterable[Entry], pattern: str) -> list[Entry]:
    """The files that are copied: in a folder not those that are hidden, or that do not match."""
    choice = Choice("bytes", pattern)
    return [
        entry
        for entry in found
        if not entry.name or (_is_plain(entry.name) and not choice.against_name(entry.name))
    ]


def _is_plain(name: str) -> bool:
    """Whether a store's name can be that of a copy: neither hidden nor a way out of the folder."""
    hidden = any(part.startswith(".") for part in name.split("/"))
    return not (hidden or "\0" in name or name.endswith("/"))  # some stores have folder/ as a file


def _place(target: Path, entry: Entry) -> Path:
    """Where a file's copy is."""
    return target.joinpath(*filter(None, entry.name.split("/")))


def _copy(store: Store, entry: Entry, place: Path, journal: Path, meter: Meter) -> None:
    """Copy a file, and note that it is whole."""
    digest = hashlib.sha256()
    with disk.atomic_write(place, size=entry.size or 0) as stream:
        for block in store.blocks(entry):
            stream.write(block)
            digest.update(block)
            meter.add(len(block))
    _note(journal, entry, file_hashes.entry_of(place, digest.hexdigest()))


def _note(journal: Path, entry: Entry, copy: list[Any]) -> None:
    """Note of which state of a file there is a whole copy. Raises OutputError."""
    line = {"file": entry.name, "stamp": entry.stamp, "copy": copy}
    disk.append(journal, f"\n{json.dumps(line)}\n")  # after what a killed process left of a line


def _is_whole(
    place: Path, known: Mapping[str, Any], entry: Entry, journal: Path, meter: Meter
) -> bool:
    """Whether a file was copied, and neither it nor the copy has changed since.

    `known` is the last line about it in the journal.
    """
    if not entry.stamp or known.get("stamp") != entry.stamp:
        return False
    copy = file_hashes.renewed(place, known.get("copy"), meter)
    if copy and copy != known["copy"]:
        with contextlib.suppress(OutputError):  # a cache that came with a container, for instance
            _note(journal, entry, copy)
    return copy is not None


def _read(journal: Path) -> dict[str, Any]:
    """The last whole line of each file."""
    known = {}
    with contextlib.suppress(OSError):
        for line in journal.read_bytes().splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                known[entry["file"]] = entry
    return known


def _clear_way(target: Path, *, folder: bool) -> None:
    """Remove a file where a folder is to be, and the other way round."""
    if target.is_dir() and not folder:
        disk.remove_folder(target)
    elif target.is_file() and folder:
        disk.remove(target)


def _forget_others(target: Path, found: Iterable[Entry]) -> None:
    """Remove the copies of files that are no longer in the folder, which else would be read."""
    places = {_place(target, entry) for entry in found}
    for copy in [*target.rglob("*")] if target.is_dir() else []:
        if copy.is_file() and copy not in places and not copy.name.startswith("."):
            disk.remove(copy)
