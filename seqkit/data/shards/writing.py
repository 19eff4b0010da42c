"""Shards are written, each in a task of its own; one that stands is not written again."""

import contextlib
import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seqkit.config import DataConfig
from seqkit.data import codecs, symbol_files
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.files import BadFileError
from seqkit.data.findings import Findings
from seqkit.data.shards.codec_choice import CodecChoice, nothing_left
from seqkit.data.shards.index import (
    OF_FILES,
    OF_SOUND,
    OF_TEXT,
    STARTS_DTYPE,
    Index,
    Shard,
    read_checked,
    write_checked,
)
from seqkit.data.shards.plan import FileSlice, Pool, Work, cut_of, plan, size_of
from seqkit.data.shards.source import Source
from seqkit.data.sound_encoder import Decoded, encode_sound
from seqkit.data.symbol_files import digests
from seqkit.data.text_encoder import encode_text, row_batches
from seqkit.foundation import disk, locks
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import DataError, OutputError
from seqkit.foundation.workers import Watch
from seqkit.symbols import symbol_dtype


@dataclass(frozen=True)
class _Job:
    """What all tasks have in common.

    suffix: of the files' names, by which new shards differ from those that they replace.
    most: the bytes of all shards, at most; None of sound, which may be compressed.
    decoded: sound that was measured before.
    """

    config: DataConfig
    folder: Path
    suffix: str
    codec: Codec
    most: int | None
    decoded: Decoded

    def shard(self, number: int) -> Path:
        """The file of a shard; what is written down of it lies beside it."""
        return self.folder / f"{number:06}{self.suffix}.bin"


@dataclass(frozen=True)
class _Written:
    """What is written down of a shard that stands, None where nothing was left of its files.

    files: what it has something of, and how many symbols of each of its documents.
    findings: as JSON values.
    labels: of each document, with data.label_column.
    """

    shard: Shard | None
    files: list[tuple[str, list[int]]]
    findings: dict[str, Any]
    labels: list[str]


def write_shards(
    source: Source, choice: CodecChoice, folder: Path, suffix: str, pool: Pool
) -> tuple[Index, Codec]:
    """Write the shards that are not in a folder yet: their index, which is not written, and codec.

    Raises:
        DataError: a file cannot be read, or changed; or nothing is left of all.
        OutputError: the disk is full, or cannot be written to.
        DeviceError: a process was killed.
    """
    codec = codecs.from_spec(choice.codec, source.catalogue)
    itemsize = symbol_dtype(codec.size).itemsize
    most = None if isinstance(codec, Quantiser) else source.bytes * itemsize
    if choice.symbols is not None:
        done = sum(file.stat().st_size for file in folder.glob(f"??????{suffix}.bin"))
        disk.require_space(folder, choice.symbols * itemsize - done)
    job = _Job(source.config, folder, suffix, codec, most, source.decoded)
    files = {name: file for name, file in source.documents.items() if name not in choice.bad}
    work = plan(files, cut=cut_of(codec.kind, source.config))
    with source.hints():
        pool.each("encoding", _write, job, [*enumerate(work)], size_of(work))
    source.check_unchanged()
    return _index(job, source, choice, len(work)), codec


def _index(job: _Job, source: Source, choice: CodecChoice, count: int) -> Index:
    """The index of so many shards that are written; it writes where documents start."""
    located, codec, left_out = source.located, job.codec, len(source.search.errors)
    findings, shards = Findings(unreadable=dict(choice.bad)), list[Shard]()
    counts, parts = Counter[str](), dict[int, int]()
    starts, before, sha256 = f"starts{job.suffix}.int64", 0, hashlib.sha256()
    labels, numbers = dict[str, int](), list[int]()
    whole = job.config.of_rows or job.config.cuts_files  # documents, in every shard
    with disk.atomic_write(job.folder / starts) as out:

        def put(values: npt.ArrayLike) -> None:
            content = np.asarray(values, STARTS_DTYPE).tobytes()
            sha256.update(content)
            out.write(content)

        for number in range(count):
            written = _known(job, number)
            assert written is not None
            findings.merge(Findings.from_json(written.findings))
            shards += [written.shard] if written.shard else []
            for file, sizes in written.files:
                begins = before + np.cumsum([0, *sizes[:-1]])
                before += sum(sizes)
                parts.setdefault(located.part_of(file), int(begins[0]))
                goes_on = file in counts and not whole  # from the shard before
                counts[file] += len(sizes) - goes_on
                put(begins[goes_on:])
            numbers += [labels.setdefault(label, len(labels)) for label in written.labels]
        if not shards:
            raise DataError(nothing_left(source, findings.unreadable | findings.left_out))
        put(numbers)
    sound = isinstance(codec, Quantiser)
    return Index(
        name=located.name,
        codec=codec.to_spec(),
        settings=_settings_of(job.config, codec),
        dtype=symbol_dtype(codec.size).name,
        shards=shards,
        names=[*counts],
        documents=[*counts.values()],
        starts_sha256=sha256.hexdigest(),
        skipped=findings.files_left_out + left_out if sound else findings.skipped,
        unreadable_files=len(findings.unreadable) + left_out,
        whole_documents=(sound or job.config.cuts_files) and sum(counts.values()) > 1,
        validation_start=parts.get(1),
        test_start=parts.get(2),
        snr=findings.snr,
        licence=located.licence,
        citation=located.citation,
        starts=starts,
        block_bytes=symbol_files.BLOCK,
        findings=findings.as_json(),
        labels=[*labels],
    )


def _write(job: _Job, numbered: tuple[int, Work], watch: Watch) -> None:
    """Write a shard, unless it is there, and beside it what is to be known of it.

    Raises:
        DataError: a file cannot be read.
        OutputError: the shard cannot be written.
    """
    number, work = numbered
    if _known(job, number):
        watch(sum(span.size for span in work))
        return
    path = job.shard(number)
    files, labels, findings = list[tuple[str, list[int]]](), list[str](), Findings()
    room = disk.space_needed(job.most, "all shards take")
    with room, disk.atomic_write(path) as stream:
        for span in work:
            lengths, seen = _encode(job, span, stream, watch)
            findings.merge(seen)
            if lengths and job.config.label_column:
                of_rows = row_batches(span, job.config, lambda size: None, labels=True)
                labels += compress(chain.from_iterable(of_rows), lengths)
            if lengths := [size for size in lengths if size]:
                files.append((span.name, lengths))
    shard = None
    if total := sum(sum(sizes) for _, sizes in files):
        shard = vars(Shard(path.name, total, *digests(path, symbol_files.BLOCK)))
    else:
        disk.remove(path)
    written = {"shard": shard, "files": files, "findings": findings.as_json(), "labels": labels}
    write_checked(path.with_suffix(".json"), written)


def _encode(
    job: _Job, span: FileSlice, stream: OutputFile, watch: Watch
) -> tuple[list[int], Findings]:
    """Write the symbols of a file, or of some bytes of it; none of one that is left out."""
    codec, config, begin = job.codec, job.config, stream.tell()
    try:
        if isinstance(codec, Quantiser):
            sizes, findings = encode_sound(span, codec, config, job.decoded, stream, watch)
        else:
            sizes, findings = encode_text(span, codec, config, stream, watch)
    except BadFileError as error:
        # Of a part of a file the others are written: it was readable a moment ago.
        if config.on_bad_file != "skip" or span.is_part:
            raise
        sizes, findings = [], Findings(unreadable={span.name: error.reason})
    if not sizes:
        stream.seek(begin)
        stream.truncate()
    return sizes, findings


def _known(job: _Job, number: int) -> _Written | None:
    """What is written down of a shard, if it stands."""
    path = job.shard(number)
    values = read_checked(path.with_suffix(".json"))
    with contextlib.suppress(OSError, TypeError):
        if values is not None:
            shard = values["shard"] and Shard(**values["shard"])
            itemsize = symbol_dtype(job.codec.size).itemsize
            if shard is None or path.stat().st_size == shard.symbols * itemsize:
                return _Written(**{**values, "shard": shard})
    return None


def _settings_of(data: DataConfig, codec: Codec) -> dict[str, Any]:
    """The keys that the symbols of a codec were made with, the codec's own values among them."""
    keys = {"audio": OF_SOUND, "text": OF_TEXT, "bytes": ()}[codec.kind]
    settings = {key: getattr(data, key) for key in (*OF_FILES, *keys)}
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
    with locks.opened(folder) as handle:
        if locks.take(handle, math.inf if wait else 0.0) is False:
            raise OutputError(f"{folder}: another process prepares data in it")
        yield
