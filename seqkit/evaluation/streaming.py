"""Streaming evaluation of a few long documents, in pieces that run side by side.

A step of one lane takes about as long as a step of eight. So each document is cut into pieces, and
every piece but the first is warmed up on the symbols before it. A network forgets where it began,
so that a piece starts from the state in which the one before it ended. That is checked: a piece of
which it is not true is run again from that very state.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.evaluation.protocols import LANES
from seqkit.evaluation.score import Score, Tally
from seqkit.evaluation.scoring import CHUNK, Chunk
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.symbols import Integers

_ENOUGH = 8  # documents that keep all lanes of a call busy by themselves
_PIECE = 4 * CHUNK  # symbols of a piece, at least
_NEAR = 1e-3  # between two h, and between two c in relation to their size


def evaluate(
    model: CharRNN,
    part: Part,
    *,
    start: int,
    watch: Callable[[int], None] = lambda done: None,
    ranks: Ranks = ALONE,
) -> Score:
    """The score of a part whose documents are streamed from the zero state to their ends.

    The arguments are those of `scoring.evaluate`.
    """
    tally = Tally(part)
    table = pieces(protocols.streaming(part), ranks.place.size)
    reading = _Reading(model, part, table, start, lambda chunk: tally.add(*chunk.counted_nats()))
    reading.read(watch=watch, ranks=ranks)
    tally.add_up(ranks)

    def mended() -> Score:
        reading.mend(tally.take_back)
        return tally.score()

    return ranks.shared(mended)  # one piece after the other: there is nothing to share out


def run(
    model: CharRNN,
    part: Part,
    table: Integers,
    *,
    start: int,
    take: Callable[[Chunk], object],
    begin_state: State | None = None,
    watch: Callable[[int], None] = lambda done: None,
) -> State | None:
    """Run a table made by `pieces`, each of which goes on where the one before ended.

    Args:
        model: as in `scoring.evaluate`; so are part and start.
        table: the segments, in the order of the part.
        take: given every chunk, in no order that means anything; those of a piece that began from
            a wrong state come once more.
        begin_state: (L, 1, H), of the first segment; by default zeros.
        watch: told how many symbols were run.

    Returns:
        The state (L, 1, H) at the end of the last segment, on the host, if a chunk ended there.
    """
    reading = _Reading(model, part, table, start, take)
    reading.read(begin_state, watch)
    reading.mend()
    return reading.final.get(len(table) - 1)


class _Reading:
    """What is run: the pieces of a table.

    Attributes:
        assumed: by the row of the table, the state where what counts begins.
        final: the one where it ends.
    """

    def __init__(
        self,
        model: CharRNN,
        part: Part,
        table: Integers,
        start: int,
        take: Callable[[Chunk], object],
    ) -> None:
        self._chunks = partial(scoring.chunks, model, part, start=start)
        self._table, self._take = table, take
        self.assumed, self.final = dict[int, State](), dict[int, State]()

    @torch.inference_mode()
    def read(
        self,
        begin_state: State | None = None,
        watch: Callable[[int], None] = lambda done: None,
        ranks: Ranks = ALONE,
    ) -> None:
        """Run all pieces, in every process its share, whose chunks are taken there."""
        warm, begin, end = self._table.T
        follows = warm < begin
        begins = np.where(follows, begin, -1)
        ends = np.where(np.append(follows[1:], True), end, -1)
        states = {} if begin_state is None else {0: begin_state}
        for chunk in self._chunks(
            segments=self._table, begin_states=states, watch=watch, ranks=ranks
        ):
            self._take(chunk)
            self.assumed |= _states_at(chunk, begins)
            self.final |= _states_at(chunk, ends)
        self.assumed, self.final = ranks.merged(self.assumed), ranks.merged(self.final)

    @torch.inference_mode()
    def mend(self, take_back: Callable[[int, int], object] = lambda begin, end: None) -> None:
        """Run those again that began from a wrong state, now from the right one.

        `take_back` is told the places of such a piece, from the first to before the last, before
        its chunks are taken.
        """
        for row in sorted(self.assumed):  # in the order of the text
            before, (_, begin, end) = self.final[row - 1], self._table[row]
            if _near(self.assumed[row], before):
                continue
            take_back(int(begin), int(end))
            again = np.array([[begin, begin, end]])
            for chunk in self._chunks(segments=again, begin_states={0: before}):
                self._take(chunk)
                self.final[row] = _on_host(*chunk.state)


def pieces(documents: Integers, processes: int = 1) -> Integers:
    """The segments, in the order of the part, of documents (S, 3) that are cut where they are few.

    A piece but a document's first is warmed up on `CHUNK` symbols; its length is a multiple of
    that, and at most `LANES` pieces for each of the processes are made of a document.
    """
    if len(documents) >= _ENOUGH * processes:
        return documents
    total = int((documents[:, 2] - documents[:, 0]).sum())
    size = max(_PIECE, -(-total // (LANES * processes) // CHUNK) * CHUNK)
    rows = []
    for first, _, end in documents.tolist():
        begins = np.arange(first, end, size, dtype=np.int64)
        rows.append(
            np.stack(
                [np.maximum(begins - CHUNK, first), begins, np.minimum(begins + size, end)], axis=1
            )
        )
    return np.concatenate(rows)


def _states_at(chunk: Chunk, places: Integers) -> dict[int, State]:
    """The state (L, 1, H) of each row of the table that has just come to its place in `places`."""
    reached = chunk.places[-1] + 1 == places[chunk.segments]
    return {
        int(chunk.segments[lane]): _on_host(*(own[:, lane : lane + 1] for own in chunk.state))
        for lane in np.flatnonzero(reached).tolist()
    }


def _on_host(h: Tensor, c: Tensor) -> State:
    return State(h.cpu(), c.cpu())


def _near(assumed: State, true: State) -> bool:
    """Whether the next symbols are predicted alike from both; a saturated c may be large."""
    h = (assumed.h - true.h).abs()
    c = (assumed.c - true.c).abs() / (1 + true.c.abs())
    return bool(h.max() < _NEAR) and bool(c.max() < _NEAR)
