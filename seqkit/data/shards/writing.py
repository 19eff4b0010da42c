"""Shards are written, each in a task of its own; one that stands is not written again."""

import contextlib
import dataclasses
import fcntl
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs, symbol_files
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.files import BadFileError
from seqkit.data.findings import Findings
from seqkit.data.shards.fitting import Fit, nothing_left
from seqkit.data.shards.index import (
    OF_SOUND,
    OF_TEXT,
    STARTS_DTYPE,
    Index,
    Shard,
    read_checked,
    write_checked,
)
from seqkit.data.shards.plan import Crew, Extent, Watch, Work, cut_of, plan, size_of
from seqkit.data.shards.source import Source
from seqkit.data.sound_encoder import encode_sound
from seqkit.data.symbol_files import digests
from seqkit.data.text_encoder import encode_text
from seqkit.foundation import disk
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import DataError, OutputError
from seqkit.foundation.plugins import Catalogue
from seqkit.symbols import Integers, symbol_dtype


@dataclass(frozen=True)
class _Job:
    """What all tasks have in common.

    suffix: of the files' names, by which new shards differ from those that they replace.
    most: the bytes of all shards, at most; None of sound, which may be compressed.
    """

    config: DataConfig
    folder: Path
    suffix: str
    codec: Codec
    most: int | None


@dataclass(frozen=True)
class _Written:
    """A shard that stands in its folder, None where nothing was left of its files.

    files: what it has something of, and of how many documents; a file has their sizes.
    findings: as JSON values.
    """

    shard: Shard | None
    files: list[tuple[str, int]] = field(default_factory=list)
    findings: dict[str, Any] = field(default_factory=dict)


def write_shards(
    source: Source, found: Fit, folder: Path, suffix: str, crew: Crew, catalogue: Catalogue
) -> tuple[Index, Codec]:
    """Write the shards that are not in a folder yet: their index, which is not written, and codec.

    Raises:
        DataError: a file cannot be read, or changed; or nothing is left of all.
        OutputError: the disk is full, or cannot be written to.
        DeviceError: a process was killed.
    """
    codec = codecs.from_spec(found.codec, catalogue)
    itemsize = symbol_dtype(codec.size).itemsize
    most = None if isinstance(codec, Quantiser) else source.bytes * itemsize
    if found.symbols is not None:
        done = sum(file.stat().st_size for file in folder.glob(f"??????{suffix}.bin"))
        disk.require_space(folder, found.symbols * itemsize - done)
    job = _Job(source.config, folder, suffix, codec, most)
    work = plan(source.documents, cut=cut_of(codec.kind, source.config), without=found.bad)
    with source.hints():
        written = crew.each("encoding", _write, job, [*enumerate(work)], size_of(work))
    source.check_unchanged()
    findings = Findings(unreadable=dict(found.bad))
    for one in written:
        findings.merge(Findings.from_json(one.findings))
    if not any(one.shard for one in written):
        raise DataError(nothing_left(source, findings.unreadable | findings.left_out))
    return _index(job, source, written, findings), codec


def work_files(folder: Path, suffix: str) -> list[Path]:
    """What lies beside shards as long as they are not finished."""
    return [file for kind in ("json", "sizes") for file in folder.glob(f"??????*{suffix}.{kind}")]


def _index(job: _Job, source: Source, written: Sequence[_Written], findings: Findings) -> Index:
    """The index of what was written; the starts are written."""
    located, codec = source.located, job.codec
    name = f"starts{job.suffix}.int64"
    counts, first, sha256 = _documents(job, name, written, of_rows=job.config.of_rows)
    parts = dict[int, int]()
    for file, begin in first.items():
        parts.setdefault(located.part_of(file), begin)
    sound = isinstance(codec, Quantiser)
    return Index(
        name=located.name,
        codec=codec.to_spec(),
        settings=_settings_of(job.config, codec),
        dtype=symbol_dtype(codec.size).name,
        shards=[one.shard for one in written if one.shard is not None],
        names=[*counts],
        documents=[*counts.values()],
        starts_sha256=sha256,
        skipped=findings.files_left_out if sound else findings.skipped,
        unreadable_files=len(findings.unreadable),
        whole_documents=sound and sum(counts.values()) > 1,
        validation_start=parts.get(1),
        test_start=parts.get(2),
        snr=findings.snr,
        licence=located.licence,
        citation=located.citation,
        starts=name,
        block_bytes=symbol_files.BLOCK,
        findings=findings.as_json(),
    )


def _documents(
    job: _Job, name: str, written: Sequence[_Written], *, of_rows: bool
) -> tuple[dict[str, int], dict[str, int], str]:
    """Write where documents start, shard by shard.

    Returns:
        How many documents each file has; where its first one starts; and the sha256 of what was
        written.
    """
    counts, first = Counter[str](), dict[str, int]()
    most = sum(count for one in written for _, count in one.files)
    before, digest = 0, hashlib.sha256()
    with disk.atomic_write(job.folder / name, size=most * np.dtype(STARTS_DTYPE).itemsize) as out:
        for one in written:
            if one.shard is None:
                continue
            sizes = _sizes(job.folder / one.shard.file)
            begins = before + np.cumsum(sizes) - sizes
            whole = np.ones(len(begins), np.bool_)
            place = 0
            for file, count in one.files:
                if file in counts and not of_rows:  # it goes on from the shard before
                    whole[place] = False
                counts[file] += int(whole[place : place + count].sum())
                first.setdefault(file, int(begins[place]))
                place += count
            content = begins[whole].astype(STARTS_DTYPE).tobytes()
            digest.update(content)
            out.write(content)
            before += one.shard.symbols
    return counts, first, digest.hexdigest()


def _write(job: _Job, numbered: tuple[int, Work], watch: Watch) -> _Written:
    """Write a shard, unless it is there.

    Raises:
        DataError: a file cannot be read.
        OutputError: the shard cannot be written.
    """
    number, work = numbered
    path = job.folder / f"{number:06}{job.suffix}.bin"
    if known := _known(path, symbol_dtype(job.codec.size).itemsize):
        watch(sum(extent.size for extent in work))
        return known
    files, sizes, findings = list[tuple[str, int]](), list[int](), Findings()
    told = disk.space_needed(job.most, "all shards take")
    with told, disk.atomic_write(path) as stream:
        for extent in work:
            own, seen = _encode(job, extent, stream, watch)
            findings.merge(seen)
            if own := [size for size in own if size]:
                files.append((extent.name, len(own)))
                sizes += own
    shard = None
    if total := sum(sizes):
        shard = Shard(path.name, total, *digests(path, symbol_files.BLOCK))
        _save_sizes(path, sizes)
    else:
        disk.remove(path)
    written = _Written(shard, files, findings.as_json())
    write_checked(path.with_suffix(".json"), dataclasses.asdict(written))
    return written


def _encode(
    job: _Job, extent: Extent, stream: OutputFile, watch: Watch
) -> tuple[list[int], Findings]:
    """Write the symbols of a file, or of some bytes of it; none of one that is left out."""
    name, file, codec, config = extent.name, extent.file, job.codec, job.config
    begin = stream.tell()
    try:
        if isinstance(codec, Quantiser):
            sizes, findings = encode_sound(name, file, codec, config, stream, watch)
        else:
            sizes, findings = encode_text(
                file, codec, config, stream, watch, extent.begin, extent.end
            )
    except BadFileError as error:
        # Of a part of a file the others are written: it was readable a moment ago.
        if config.on_bad_file != "skip" or extent.is_part:
            raise
        sizes, findings = [], Findings(unreadable={name: error.reason})
    if not sizes:
        stream.seek(begin)
        stream.truncate()
    return sizes, findings


def _known(path: Path, itemsize: int) -> _Written | None:
    """What was written before, if it is there."""
    values = read_checked(path.with_suffix(".json"))
    with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
        if values is None:
            return None
        files = [(name, count) for name, count in values["files"]]
        shard = values["shard"] and Shard(**values["shard"])
        if shard is None:
            return _Written(None, files, values["findings"])
        whole = path.stat().st_size == shard.symbols * itemsize
        if whole and _sizes(path).sum() == shard.symbols:
            return _Written(shard, files, values["findings"])
    return None


def _save_sizes(shard: Path, sizes: Sequence[int]) -> None:
    """Write beside a shard how many symbols of each document it has. Raises OutputError."""
    content = np.array(sizes, STARTS_DTYPE).tobytes()
    with disk.atomic_write(shard.with_suffix(".sizes"), size=len(content)) as stream:
        stream.write(content)


def _sizes(shard: Path) -> Integers:
    """What `_save_sizes` wrote (n,). Raises OSError."""
    return np.frombuffer(shard.with_suffix(".sizes").read_bytes(), STARTS_DTYPE).astype(np.int64)


def _settings_of(data: DataConfig, codec: Codec) -> dict[str, Any]:
    """The keys that the symbols of a codec were made with, the codec's own values among them."""
    keys = {"audio": OF_SOUND, "text": OF_TEXT, "bytes": ()}[codec.kind]
    settings = {key: getattr(data, key) for key in ("pattern", *keys)}
    settings |= {"kind": codec.kind, "codec": codec.name}
    if isinstance(codec, Quantiser):
        settings |= {"sample_rate": codec.sample_rate, "levels": codec.levels}
    return settings


@contextlib.contextmanager
def lock(folder: Path, *, wait: bool) -> Iterator[None]:
    """Keep a folder for this process, or `wait` until another one is done with it.

    Raises:
        OutputError: another process has it.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError as error:
                raise OutputError(f"{folder}: another process prepares data in it") from error
        yield
    finally:
        os.close(handle)
