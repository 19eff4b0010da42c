"""Encoded files in the cache: shards that are made at the first start, and found by the next."""

import contextlib
import dataclasses
import os
import time
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import codecs
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Corpus
from seqkit.data.findings import Findings
from seqkit.data.shards import opened
from seqkit.data.shards.fitting import Fit, fit, sha256_of
from seqkit.data.shards.index import INDEX, asked_for, read_checked, read_index, write_checked
from seqkit.data.shards.plan import Crew
from seqkit.data.shards.source import Source, key_of_codec, settings_key
from seqkit.data.shards.writing import lock, work_files, write_shards
from seqkit.foundation import disk
from seqkit.foundation.errors import DataError, OutputError
from seqkit.foundation.plugins import Catalogue

_FORMAT = 9  # of the cached files; a change of the format changes their key
_REMEDY = "start again: the data are encoded anew"
_DAY = 24 * 3600.0
_UNUSED = 30 * _DAY  # seconds, after which a corpus goes
_MOST = 20e9  # bytes of all corpora, beyond which those go that were not used for a day


def load(
    source: Source,
    *,
    cache: Path,
    catalogue: Catalogue,
    crew: Crew,
    codec: Codec | None = None,
    grow: bool = False,
) -> Corpus:
    """The corpus of files, and of those that are chosen in folders: each is one document.

    Args:
        source: the files, and the keys by which they are read.
        cache: the folder for encoded data.
        catalogue: where codecs are looked for.
        crew: who encodes them.
        codec: encode with this one; by default one as configured, which fits them.
        grow: give that codec symbols for what is new in a text.

    Raises:
        DataError: a file cannot be read, or changed; or nothing is left.
        ConfigError: keys that do not fit the codec.
    """
    files = source.identity
    found = _fitted(source, files, cache, catalogue, crew, codec, grow)
    own = codecs.from_spec(found.codec, catalogue)
    key = settings_key({"files": files, **_settings(source.config, own)})
    folder = cache / "corpora" / key[:32]
    notes, corpus = list[str](), _cached(source, found, folder, own, crew)
    if corpus is None:
        disk.make_folder(folder)
        with lock(folder, wait=True):
            corpus = _cached(source, found, folder, own, crew)
            if corpus is None:
                if (folder / INDEX).exists():
                    notes = [f"the cached copy of {source.located} was damaged: it was made again"]
                    disk.remove(folder / INDEX)
                _encode(source, found, folder, crew, catalogue)
                corpus = _cached(source, found, folder, own, crew)
        if corpus is None:
            raise DataError(f"{folder}: damaged while it was written: start again")
        evict(cache)
    trains = codec is None or grow
    findings = Findings.from_json(read_index(folder)[0].findings)
    notes += source.notes(findings, own, fitted=trains)
    left_out = len(source.search.errors)
    return dataclasses.replace(
        corpus,
        skipped=corpus.skipped + (left_out if source.is_sound else 0),
        unreadable_files=corpus.unreadable_files + left_out,
        notes=tuple(notes),
    )


def evict(cache: Path) -> None:
    """Remove corpora that were not used for long, and those of earlier versions with them."""
    size, now = 0, time.time()
    found = [(path, _used(path)) for name in ("corpora", "codecs", "hashes")
             for path in (cache / name).glob("*")]  # fmt: skip
    for path, used in sorted(found, key=lambda one: one[1], reverse=True):
        with contextlib.suppress(OSError, OutputError):
            files = [*path.iterdir()] if path.is_dir() else [path]
            size += sum(file.stat().st_size for file in files)
            if now - used > (_DAY if size > _MOST else _UNUSED):
                if path.is_dir():
                    disk.remove_folder(path)
                else:
                    disk.remove(path)


def _used(path: Path) -> float:
    """When a corpus was used last; now, if it is gone."""
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return time.time()


def _fitted(
    source: Source,
    files: str,
    cache: Path,
    catalogue: Catalogue,
    crew: Crew,
    codec: Codec | None,
    grow: bool,
) -> Fit:
    """The codec for the files and their hash, as they were found before or are found now."""
    asked = {"format": _FORMAT, "files": files, "grow": grow, **asked_for(source.config)}
    asked["of_rows"] = source.config.of_rows
    if codec is not None:
        asked |= {"given": key_of_codec(codec)}
    elif source.config.codec != "auto":
        asked["code"] = codecs.fingerprint(codecs.find(source.config.codec, catalogue))
    memory = cache / "corpora" / f"{settings_key(asked)[:32]}.json"
    with contextlib.suppress(TypeError, ValueError, OSError):
        found = Fit(**(read_checked(memory) or {}))
        codecs.from_spec(found.codec, catalogue)  # one of a plug-in may have changed
        os.utime(memory)
        return found
    sha256, size = sha256_of(source, crew), source.bytes
    derived = fit(source, crew, catalogue, codec, grow)
    found = dataclasses.replace(derived, sha256=sha256, bytes=size)
    write_checked(memory, dataclasses.asdict(found))
    return found


def _encode(source: Source, found: Fit, folder: Path, crew: Crew, catalogue: Catalogue) -> None:
    """Write the shards of files to a folder."""
    index, _ = write_shards(source, found, folder, "", crew, catalogue)
    index.save(folder)
    for file in work_files(folder, ""):
        disk.remove(file)


def _cached(source: Source, found: Fit, folder: Path, codec: Codec, crew: Crew) -> Corpus | None:
    """The corpus from the cache; None if it is not there whole, or damaged."""
    try:
        index, _ = read_index(folder)
        corpus = opened.corpus_of(index, folder, codec, found.sha256, _REMEDY, in_shards=False)
        symbols = corpus.whole.symbols
        with crew.meter.shown("checking the cache", index.bytes):
            symbols.check(crew.meter.add)  # type: ignore[union-attr]
        Findings.from_json(index.findings)
        os.utime(folder)
    except (DataError, OSError, KeyError, TypeError):
        return None
    located = source.located
    return dataclasses.replace(
        corpus,
        name=located.name,
        bytes=found.bytes,
        licence=located.licence,
        citation=located.citation,
        stand_in=located.path if located.stands_in else None,
    )


def _settings(config: DataConfig, codec: Codec) -> dict[str, object]:
    """What the symbols depend on beside the files, as JSON values."""
    keys = ("unknown", "newline", "on_bad_file", "of_rows", "encoding")
    own = ("channel", "on_bad_file") if codec.kind == "audio" else keys
    settings = {key: getattr(config, key) for key in own}
    return {"format": _FORMAT, "kind": codec.kind, **settings, **key_of_codec(codec)}
