"""How surprising every symbol of a part is, told in its order, and which places stand out.

It is what `streaming` scores, stretch by stretch: each is run in pieces side by side, and goes on
from the state in which the one before ended. So memory is bounded, however long the part is.
"""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from seqkit.data.corpus import Part, Row
from seqkit.evaluation import protocols, streaming
from seqkit.evaluation.scoring import CHUNK, Chunk, Scored
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, symbol_dtype

_BLOCK = 1 << 20  # symbols read at a time
_STRETCH = 256 * CHUNK  # symbols; up to one piece more
_FIRST = 8 * CHUNK  # of the first stretch, which somebody waits for

T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """What is told of every symbol beside its nats.

    size: V, the codec's; logits that the model has beyond it are no symbols.
    likeliest: how many of the symbols that were expected, 0 for none.
    """

    size: int
    likeliest: int = 0


@dataclass(frozen=True)
class Stretch:
    """Some symbols of a part, in its order, from the place `begin` on.

    nats (n,): the surprise of each.
    likeliest, chances (n, K): the K symbols that were expected most, and how much, in order.
    """

    begin: int
    nats: Floats
    likeliest: Integers
    chances: Floats

    @property
    def end(self) -> int:
        """The place after the last symbol."""
        return self.begin + len(self.nats)

    def cut(self, begin: int, end: int) -> "Stretch":
        """What is told of the places from `begin` to `end`, copied."""
        rows = slice(begin - self.begin, end - self.begin)
        expected = self.likeliest[rows].copy(), self.chances[rows].copy()
        return Stretch(begin, self.nats[rows].copy(), *expected)


def stretches(scored: Scored, wanted: Wanted) -> Iterator[Stretch]:
    """What a part's symbols are to a model that streams it, from the first to the last."""
    size, warm = map(scored.part.whole_frames, (streaming.PIECE, CHUNK))
    table = protocols.cut(protocols.streaming(scored.part), size, warm=warm)
    edges = np.flatnonzero(np.diff((table[:, 1] - _FIRST) // _STRETCH)) + 1
    state: State | None = None
    for rows in np.split(table, edges):
        (warm, begin, _), end = rows[0].tolist(), int(rows[-1, 2])
        rows[0, 0] = begin  # the state there is known
        size, most = end - begin, min(wanted.likeliest, wanted.size)
        stretch = Stretch(
            begin,
            np.zeros(size, np.float32),
            np.zeros((size, most), symbol_dtype(wanted.size)),
            np.zeros((size, most), np.float32),
        )

        def watch(done: int, begin: int = begin) -> None:
            scored.watch(begin + done)

        state = streaming.run(
            dataclasses.replace(scored, watch=watch),
            rows,
            take=partial(_fill, stretch, wanted),
            begin_state=state if warm < begin else None,
        )
        yield stretch


@torch.inference_mode()
def _fill(stretch: Stretch, wanted: Wanted, chunk: Chunk) -> None:
    """Write down what a chunk tells; of places that come again, the last word."""
    places, nats = chunk.counted_nats()
    places = places - stretch.begin
    stretch.nats[places] = nats
    counted = torch.from_numpy(chunk.counted).to(chunk.nats.device)
    if most := stretch.likeliest.shape[1]:
        logits = chunk.trace.logits[counted]
        expected = logits[:, : wanted.size].topk(most)
        chances = (expected.values - logits.logsumexp(-1)[:, None]).exp()
        stretch.likeliest[places] = expected.indices.cpu().numpy()
        stretch.chances[places] = chances.cpu().numpy()


class Peak(NamedTuple, Generic[T]):
    """A place, its value, and what was kept of its neighbourhood."""

    place: int
    value: float
    kept: T


class Peaks(Generic[T]):
    """Keeps the highest of values that come stretch by stretch."""

    def __init__(self, most: int, apart: int) -> None:
        """At most so many places, each at least `apart` from the others."""
        self._most = most
        self._apart = apart
        self.highest: list[Peak[T]] = []
        """The places that were found, the highest first."""

    def add(self, begin: int, values: Floats, keep: Callable[[int], T], spacing: int = 1) -> None:
        """Look at values (n,) of the places `begin`, `begin + spacing` …

        `keep` is asked about places that are among the highest so far.
        """
        step = max(1, self._apart // spacing)
        edges = range(0, len(values), step)
        rows = [edge + int(values[edge : edge + step].argmax()) for edge in edges]
        peaks, self.highest = self.highest, []
        for row in sorted(rows, key=lambda row: -float(values[row]))[: 4 * self._most]:
            place = begin + spacing * row
            peaks.append(Peak(place, float(values[row]), keep(place)))
        for peak in sorted(peaks, key=lambda peak: (-peak.value, peak.place)):
            if all(abs(peak.place - other.place) >= self._apart for other in self.highest):
                self.highest.append(peak)
        del self.highest[self._most :]


def position(part: Part, newlines: npt.NDArray[np.int64], place: int) -> tuple[int, int, int]:
    """Document, line and column of a place in a part, which may begin in the middle of a document.

    All are from 1, as they are in the corpus and its document; the column counts symbols.
    `newlines` (V,) counts the line ends that each symbol stands for.
    """
    document = int(np.searchsorted(part.starts, place, side="right"))
    begin, line, column = int(part.starts[document - 1]), 1, 1
    before: tuple[Row, int, int] = part.before, 0, len(part.before) if document == 1 else 0
    for row, first, end in (before, (part.symbols, begin, place)):
        for at in range(first, end, _BLOCK):
            counts = newlines[row[at : min(at + _BLOCK, end)]]
            ends = np.flatnonzero(counts)
            line += int(counts.sum())
            column = len(counts) - int(ends[-1]) if len(ends) else column + len(counts)
    return part.documents_before + document, line, column
