"""What the processes of a preparation do: each task reads some files, or a part of one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.config import DataConfig
from seqkit.data.bad_files import BadFileError, BadFiles
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.codecs.characters import counts_of
from seqkit.data.corpus_cache import Source
from seqkit.data.datasets import Located
from seqkit.data.meter import Meter
from seqkit.data.recordings import Loudness, Recordings
from seqkit.data.shards import starts
from seqkit.data.shards.index import Shard
from seqkit.data.shards.plan import Work
from seqkit.data.symbol_files import digests
from seqkit.data.text_encoder import Texts, pieces_of
from seqkit.foundation import disk
from seqkit.foundation.errors import DataError
from seqkit.symbols import Integers, symbol_dtype

_FRAMES = 1 << 16  # read at a time; with those of a training it takes twice as long
Watch = Callable[[int], None]


@dataclass(frozen=True)
class Job:
    """What all tasks of a preparation have in common.

    several: whether there are several files, so that one may be left out.
    codec: None as long as it is looked for.
    most: the bytes of all shards, at most; None of sound, which may be compressed.
    """

    config: DataConfig
    located: Located
    several: bool
    folder: Path
    codec: Codec | None = None
    most: int | None = None

    def bad(self) -> BadFiles:
        """What becomes of files that cannot be read."""
        return BadFiles(self.config.on_bad_file == "skip", self.several)

    def source(self, work: Work, meter: Meter) -> Source:
        """The files of a task."""
        files = {str(extent.document): extent.file for extent in work}
        return Source(self.located, files, {}, 0, self.folder, meter)


@dataclass(frozen=True)
class Written:
    """A shard that stands in its folder, None where nothing was left of its files.

    files: the number of each file that it has something of, and of how many documents; their sizes
        are in a file (`starts`), whose sha256 is `sizes_sha256`.
    findings: of `Texts` or `Recordings`.
    """

    shard: Shard | None
    files: list[tuple[int, int]]
    sizes_sha256: str
    findings: dict[str, Any]


@dataclass(frozen=True)
class ToWrite:
    """The task of a shard: its number, its files, and what an earlier process said of it."""

    number: int
    work: Work
    known: Written | None = None

    @property
    def file(self) -> str:
        """The name of the shard."""
        return f"{self.number:06}.bin"


@dataclass
class Counted:
    """What was found in a task's files.

    counts: code points, and how often each occurs. The parts of a large file stand by themselves
        under its number, all other files together under -1.
    bad: files that are no text, by their numbers, and why.
    """

    counts: list[tuple[int, Integers, Integers]]
    bad: list[tuple[int, str]]


class _Relay(Meter):
    """A meter that hands on what it is told."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    def add(self, count: int) -> None:
        """So many more bytes were read."""
        self._watch(count)


def count(job: Job, work: Work, watch: Watch) -> Counted:
    """Count the characters of some files. Raises DataError."""
    meter, bad = _Relay(watch), job.bad()
    found = dict[int, Integers]()
    left_out = []
    for extent in work:
        pieces = pieces_of(extent.file, "text", job.config, meter, extent.begin, extent.end)
        try:
            counts = counts_of(piece for piece in pieces if isinstance(piece, str))
        except BadFileError as error:
            bad.leave_out(error)
            left_out.append((extent.document, error.reason))
            continue
        extent.check_unchanged()
        number = extent.document if extent.is_part else -1
        found[number] = found[number] + counts if number in found else counts
    present = {number: np.flatnonzero(counts) for number, counts in found.items()}
    return Counted([(n, places, found[n][places]) for n, places in present.items()], left_out)


def measure(job: Job, rate_and_work: tuple[int, Work], watch: Watch) -> Loudness:
    """How loud some recordings are at a sample rate. Raises DataError."""
    rate, work = rate_and_work
    recordings = Recordings(job.config, job.source(work, _Relay(watch)), _FRAMES)
    recordings.bad = job.bad()
    loudness = Loudness()
    for extent in work:
        recordings.measure(extent.file, rate, loudness)
        extent.check_unchanged()
    return loudness


def write(job: Job, task: ToWrite, watch: Watch) -> Written:
    """Write a shard, unless it is there and whole.

    Raises:
        DataError: a file cannot be read, or changed.
        OutputError: the shard cannot be written.
    """
    path = job.folder / task.file
    if task.known is not None and _stands(job.folder, task.known):
        watch(sum(extent.size for extent in task.work))
        return task.known
    codec = job.codec
    assert codec is not None
    source = job.source(task.work, _Relay(watch))
    encoder: Recordings | Texts
    if isinstance(codec, Quantiser):
        encoder = Recordings(job.config, source, _FRAMES)
    else:
        encoder = Texts(job.config, source, codec)
    encoder.bad = job.bad()
    files, sizes = list[tuple[int, int]](), list[int]()
    told = disk.space_needed(job.most, "all shards take")
    with told, disk.atomic_write(path) as stream:
        for extent in task.work:
            if isinstance(encoder, Recordings):
                assert isinstance(codec, Quantiser)
                found = [encoder.write(extent.file, codec, stream)]
            else:
                found = encoder.write(extent.file, stream, extent.begin, extent.end)
            extent.check_unchanged()
            if own := [size for size in found if size]:
                files.append((extent.document, len(own)))
                sizes += own
    total = sum(sizes)
    if not total:
        disk.remove(path)
        return Written(None, [], "", encoder.findings())
    whole, blocks = digests(path)
    expected = total * symbol_dtype(codec.size).itemsize
    if path.stat().st_size != expected:
        raise DataError(f"{path}: changed while it was written: start again")
    shard = Shard(task.file, total, whole, blocks)
    return Written(shard, files, starts.save_sizes(path, sizes), encoder.findings())


def _stands(folder: Path, known: Written) -> bool:
    """Whether a shard and the sizes of its documents are there as they were written."""
    if known.shard is None:
        return True
    path = folder / known.shard.file
    try:
        starts.read_sizes(path, known.sizes_sha256)
        return digests(path)[0] == known.shard.sha256
    except DataError:
        return False
