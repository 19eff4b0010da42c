"""Which bytes of which files become which shard, and the processes that share this out.

The plan is the same however many they are.
"""

import codecs
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from seqkit.config import DataConfig
from seqkit.data.documents import bytes_between, next_document
from seqkit.data.files import BadFileError, Meter
from seqkit.foundation import machine, workers
from seqkit.foundation.workers import Watch

SHARD = 1 << 26
"""Bytes of the source that make a shard; a file of sound is not cut."""
_CUT = ("utf-8", "ascii")  # encodings in which any byte tells whether a character begins there
Cut = Literal["characters"] | re.Pattern[bytes]
S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")
_FEW = 1 << 23  # bytes for which other processes are not worth their start
_CONTINUES, _BEGINS = 0x80, 0xC0  # bytes of UTF-8 within a character


@dataclass(frozen=True)
class FileSlice:
    """Some bytes of a file: from `begin` to before `end`.

    name: of the file among all that are read.
    is_part: whether there are other bytes of the file.
    """

    name: str
    file: Path
    begin: int
    end: int
    is_part: bool = False

    @property
    def size(self) -> int:
        """In bytes."""
        return self.end - self.begin


Work = Sequence[FileSlice]
"""What makes one shard."""


def plan(files: Mapping[str, Path], *, cut: Cut | None) -> list[Work]:
    """The shards that the files make, in this order; with `cut` large files make several.

    They are cut between characters, or after what stands between documents.

    Raises:
        DataError: a file cannot be read.
    """
    shards, size = list[list[FileSlice]](), 0
    for name, file in files.items():
        for span in _slices(name, file, cut):
            if not shards or size + span.size > SHARD:
                shards.append([])
                size = 0
            shards[-1].append(span)
            size += span.size
    return [tuple(shard) for shard in shards]


def size_of(work: Sequence[Work]) -> int:
    """The bytes of all files."""
    return sum(span.size for shard in work for span in shard)


def cut_of(kind: str, config: DataConfig) -> Cut | None:
    """Where files of a kind (text, bytes, audio) can be cut; None: only the whole can be read."""
    if config.of_rows:
        return bytes_between("line")
    plain = kind == "text" and codecs.lookup(config.encoding).name in _CUT
    if plain and config.cuts_files:
        return bytes_between(config.document)
    return "characters" if plain or kind == "bytes" else None


def _slices(name: str, file: Path, cut: Cut | None) -> Iterator[FileSlice]:
    begin = 0
    try:
        size = file.stat().st_size
        if cut is None or size <= SHARD:
            yield FileSlice(name, file, 0, size)
            return
        with file.open("rb") as stream:
            while begin < size:
                end = min(begin + SHARD, size)
                stream.seek(end - 1)
                if isinstance(cut, re.Pattern):
                    end = next_document(stream, end - 1, cut)
                else:
                    end += _inside(stream.read(5))
                yield FileSlice(name, file, begin, end, is_part=end - begin < size)
                begin = end
    except OSError as error:
        raise BadFileError.of(file, error) from error


def _inside(around: bytes) -> int:
    """How much later than after the first of these bytes a file can be cut.

    Neither within a character of UTF-8 nor between CR and LF.
    """
    if around[:2] == b"\r\n":
        return 1
    later = 0
    while later < 3 and _CONTINUES <= around[later + 1 : later + 2].ljust(1)[0] < _BEGINS:
        later += 1
    return later


@dataclass(frozen=True)
class Pool:
    """So many processes, by default one for each core and one alone for little data."""

    processes: int | None
    meter: Meter

    def each(
        self,
        title: str,
        function: Callable[[S, T, Watch], R],
        shared: S,
        work: Sequence[T],
        size: int,
    ) -> list[R]:
        """What `function` makes of every task, as in `workers.share_out`, shown with this title.

        `size` is how many bytes are read.
        """
        usual = 1 if size <= _FEW else machine.own_cores()
        count = usual if self.processes is None else self.processes
        with self.meter.shown(title, size):
            results = workers.share_out(function, shared, work, count, self.meter.add)
            return [result for _, result in sorted(results, key=lambda numbered: numbered[0])]
