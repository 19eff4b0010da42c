"""How surprising every symbol of a part is, told in its order, and which places stand out.

It is what `streaming` scores, stretch by stretch: each is run in pieces side by side, and goes on
from the state in which the one before ended. So memory is bounded, however long the part is.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, streaming
from seqkit.evaluation.scoring import CHUNK, Chunk, Scored
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, Symbols, symbol_dtype

_BLOCK = 1 << 20  # symbols read at a time
_STRETCH = 256 * CHUNK  # symbols; up to one piece more
_FIRST = 8 * CHUNK  # of the first stretch, which somebody waits for
_PEAKS = 20


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


def stretches(scored: Scored, likeliest: int = 0) -> Iterator[Stretch]:
    """What a part's symbols are to a model that streams it, from the first to the last.

    `likeliest` says how many of the symbols that were expected most are told beside each.
    """
    different = scored.model.config.symbols
    size, warm = map(scored.part.whole_frames, (streaming.PIECE, CHUNK))
    table = protocols.cut(protocols.streaming(scored.part), size, warm=warm)
    edges = np.flatnonzero(np.diff((table[:, 1] - _FIRST) // _STRETCH)) + 1
    state: State | None = None
    for rows in np.split(table, edges):
        (warm, begin, _), end = rows[0].tolist(), int(rows[-1, 2])
        rows[0, 0] = begin  # the state there is known
        size, most = end - begin, min(likeliest, different)
        stretch = Stretch(
            begin,
            np.zeros(size, np.float32),
            np.zeros((size, most), symbol_dtype(different)),
            np.zeros((size, most), np.float32),
        )

        def watch(done: int, begin: int = begin) -> None:
            scored.watch(begin + done)

        state = streaming.run(
            dataclasses.replace(scored, watch=watch),
            rows,
            take=partial(_fill, stretch),
            begin_state=state if warm < begin else None,
        )
        yield stretch


@torch.inference_mode()
def _fill(stretch: Stretch, chunk: Chunk) -> None:
    """Write down what a chunk tells; of places that come again, the last word."""
    places, nats = chunk.counted_nats()
    places = places - stretch.begin
    stretch.nats[places] = nats
    counted = torch.from_numpy(chunk.counted).to(chunk.nats.device)
    if most := stretch.likeliest.shape[1]:
        logits = chunk.trace.logits[counted]
        expected = logits.topk(most)
        chances = (expected.values - logits.logsumexp(-1)[:, None]).exp()
        stretch.likeliest[places] = expected.indices.cpu().numpy()
        stretch.chances[places] = chances.cpu().numpy()


class Peaks:
    """Keeps the highest of values that come stretch by stretch."""

    def __init__(self, apart: int) -> None:
        """Each of the places is at least `apart` from the others."""
        self._apart = apart
        self.highest: list[tuple[int, float]] = []
        """At most 20 places and their values, the highest first."""

    def add(self, begin: int, values: Floats, spacing: int = 1) -> None:
        """Look at values (n,) of the places `begin`, `begin + spacing` …"""
        step = max(1, self._apart // spacing)
        rows = [at + int(values[at : at + step].argmax()) for at in range(0, len(values), step)]
        found = self.highest + [(begin + spacing * row, float(values[row])) for row in rows]
        self.highest = []
        for place, value in sorted(found, key=lambda peak: (-peak[1], peak[0])):
            if all(abs(place - other) >= self._apart for other, _ in self.highest):
                self.highest.append((place, value))
            if len(self.highest) == _PEAKS:
                return


def position(part: Part, newlines: npt.NDArray[np.int64], place: int) -> tuple[int, int, int]:
    """Document, line and column of a place in a part, which may begin in the middle of a document.

    All are from 1, as they are in the corpus and its document; the column counts symbols.
    `newlines` (V,) counts the line ends that each symbol stands for.
    """
    document = int(np.searchsorted(part.starts, place, side="right"))
    begin, line, column = int(part.starts[document - 1]), 1, 1
    before: tuple[Symbols, int, int] = part.before, 0, len(part.before) if document == 1 else 0
    for row, first, end in (before, (part.symbols, begin, place)):
        for at in range(first, end, _BLOCK):
            counts = newlines[row[at : min(at + _BLOCK, end)]]
            ends = np.flatnonzero(counts)
            line += int(counts.sum())
            column = len(counts) - int(ends[-1]) if len(ends) else column + len(counts)
    return part.documents_before + document, line, column
