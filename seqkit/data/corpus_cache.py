"""Encoded files in the cache: shards that are made at the first start, and found by the next."""

import contextlib
import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data import codecs
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Corpus
from seqkit.data.findings import Findings
from seqkit.data.shards import reading
from seqkit.data.shards.codec_choice import CodecChoice, choose_codec, sha256_of
from seqkit.data.shards.index import (
    INDEX,
    Index,
    asked_for,
    digest,
    read_checked,
    read_index,
    write_checked,
)
from seqkit.data.shards.plan import Pool
from seqkit.data.shards.source import Source
from seqkit.data.shards.writing import lock, write_shards
from seqkit.foundation import disk
from seqkit.foundation.errors import DataError, OutputError
from seqkit.foundation.wording import first_of

_FORMAT = 12  # of the cached files; what is chosen otherwise changes their key, too
_REMEDY = "start again: the data are encoded anew"
_FOLDERS = ("corpora", "kernels", "hashes", "codecs")  # the last two of earlier versions
_SHOWN = 12  # digits of a sha256
_UNUSED = 30 * 24 * 3600.0  # seconds, after which a corpus goes, and a kernel is compiled anew


def load(
    source: Source,
    *,
    cache: Path,
    pool: Pool,
    codec: Codec | None = None,
    grow: bool = False,
) -> Corpus:
    """The corpus of files, and of those that are chosen in folders: each is one document.

    Args:
        source: the files, and the keys by which they are read.
        cache: the folder for encoded data.
        pool: the processes that encode them.
        codec: encode with this one; by default one as configured, which fits them.
        grow: give that codec symbols for what is new in a text.

    Raises:
        DataError: a file cannot be read, or changed; or nothing is left.
        ConfigError: keys that do not fit the codec.
    """
    choice = _fitted(source, cache, pool, codec, grow)
    chosen = codecs.from_spec(choice.codec, source.catalogue)
    key = digest({"files": source.identity, **_settings(source.config, chosen)})
    folder = cache / "corpora" / key[:32]
    notes, whole = list[str](), _whole(folder, chosen, choice, pool)
    if whole is None:
        disk.make_folder(folder)
        with lock(folder, wait=True):
            whole = _whole(folder, chosen, choice, pool)
            if whole is None:
                if (folder / INDEX).exists():
                    notes = [f"the cached copy of {source.located} was damaged: it was made again"]
                    disk.remove(folder / INDEX)
                index, _ = write_shards(source, choice, folder, "", pool)
                index.save(folder)
                for file in folder.glob("??????.json"):
                    disk.remove(file)
                whole = index, reading.corpus_of(index, folder, chosen, choice.sha256, _REMEDY)
        evict(cache)
    index, corpus = whole
    located, findings = source.located, Findings.from_json(index.findings)
    notes += source.notes(findings, chosen, fitted=codec is None or grow)
    if choice.others:
        notes.append(_other_files(choice.others, source.config.sha256))
    return dataclasses.replace(
        corpus,
        name=located.name,
        bytes=source.bytes,
        licence=located.licence,
        citation=located.citation,
        stand_in=located.path if located.stands_in else None,
        notes=tuple(notes),
    )


def _other_files(others: Mapping[str, str], meant: Sequence[str]) -> str:
    """That files are not those that `data.sha256` means; `others` are their sums by their names."""
    found = first_of([f"{name} ({sha256[:_SHOWN]}…)" for name, sha256 in others.items()])
    expected = first_of([f"{sha256[:_SHOWN]}…" for sha256 in meant])
    return (
        f"{found}: another sha256 than data.sha256 has ({expected}): another edition, or other "
        "line ends? Losses compare with published ones only on the same text"
    )


def evict(cache: Path) -> None:
    """Remove corpora that were not used for long, and what is known of them."""
    for path in chain.from_iterable((cache / name).glob("*") for name in _FOLDERS):
        with contextlib.suppress(OSError, OutputError):
            if time.time() - path.stat().st_mtime > _UNUSED:
                if path.is_dir():
                    disk.remove_folder(path)
                else:
                    disk.remove(path)


def _fitted(
    source: Source,
    cache: Path,
    pool: Pool,
    codec: Codec | None,
    grow: bool,
) -> CodecChoice:
    """The codec for the files and their hash, as they were found before or are found now."""
    asked = {"format": _FORMAT, "files": source.identity, "grow": grow}
    asked |= asked_for(source.config)
    if source.config.sha256:
        asked["sha256"] = source.config.sha256
    if codec is not None:
        asked["given"] = _key_of(codec)
    elif source.config.codec != "auto":
        asked["code"] = codecs.fingerprint(codecs.find(source.config.codec, source.catalogue))
    memory = cache / "corpora" / f"{digest(asked)[:32]}.json"
    with contextlib.suppress(TypeError, ValueError, OSError):
        choice = CodecChoice(**(read_checked(memory) or {}))
        codecs.from_spec(choice.codec, source.catalogue)  # one of a plug-in may have changed
        os.utime(memory)
        return choice
    sha256, others = sha256_of(source, pool)
    choice = choose_codec(source, pool, codec, grow)
    choice = dataclasses.replace(choice, sha256=sha256, others=others)
    write_checked(memory, dataclasses.asdict(choice))
    return choice


def _whole(
    folder: Path, codec: Codec, choice: CodecChoice, pool: Pool
) -> tuple[Index, Corpus] | None:
    """An index in the cache and its corpus; None if it is not there whole, or damaged."""
    try:
        index, _ = read_index(folder)
        corpus = reading.corpus_of(index, folder, codec, choice.sha256, _REMEDY)
        symbols = corpus.whole.symbols
        with pool.meter.shown("checking the cache", index.bytes):
            symbols.check(pool.meter.add)  # type: ignore[union-attr]
        os.utime(folder)
    except (DataError, OSError):
        return None
    return index, corpus


def _settings(config: DataConfig, codec: Codec) -> dict[str, object]:
    """What the symbols depend on beside the files, as JSON values."""
    keys = ("unknown", "newline", "leave_out", "document", "on_bad_file", "of_rows", "encoding")
    names = ("channel", "on_bad_file") if codec.kind == "audio" else keys
    settings = {key: getattr(config, key) for key in names}
    return {"format": _FORMAT, "kind": codec.kind, **settings, **_key_of(codec)}


def _key_of(codec: Codec) -> dict[str, Any]:
    """What the symbols of a codec depend on beside the files and how they are read."""
    with codecs.failures(type(codec), "to_spec"):
        return {"codec": codec.to_spec(), "code": codecs.fingerprint(type(codec))}
