"""Streaming evaluation of a few long documents, in pieces that run side by side.

A step of one lane takes about as long as a step of eight. So each document is cut into pieces, and
every piece but the first is warmed up on the symbols before it. A network forgets where it began,
so that a piece starts from the state in which the one before it ended. That is checked: a piece of
which it is not true is run again from that very state. Networks of text forget, some of sound do
not: a trial at the beginning shows whether to cut at all.
"""

from collections.abc import Callable, Mapping

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
    precision: str = "fp32",
    watch: Callable[[int], None] = lambda done: None,
    ranks: Ranks = ALONE,
) -> Score:
    """The score of a part whose documents are streamed from the zero state to their ends.

    The arguments are those of `scoring.evaluate`.
    """
    size = ranks.place.size
    documents = protocols.streaming(part)
    if not ranks.shared(lambda: may_cut(model, part, start, precision, size)):
        return scoring.evaluate(
            model,
            part,
            start=start,
            segments=documents,
            precision=precision,
            watch=watch,
            ranks=ranks,
        )
    tally = Tally(part)

    def take(chunk: Chunk) -> None:
        tally.add(*chunk.counted_nats())
        watch(min(tally.counted * size, len(part)))

    reading = _Reading(model, part, pieces(documents, size), start, precision)
    reading.read(take, {}, ranks)
    tally.add_up(ranks)

    def mended() -> Score:
        reading.mend(take, tally.take_back)
        return tally.score()

    return ranks.shared(mended)  # one piece after the other: there is nothing to share out


def run(
    model: CharRNN,
    part: Part,
    table: Integers,
    *,
    start: int,
    precision: str,
    take: Callable[[Chunk], object],
    begin_state: State | None = None,
) -> State | None:
    """Run a table made by `pieces`, each of which goes on where the one before ended.

    Args:
        model: as in `scoring.evaluate`; so are part, start and precision.
        table: the segments, in the order of the part.
        take: given every chunk, in no order that means anything; those of a piece that began from
            a wrong state come once more.
        begin_state: (L, 1, H), of the first segment; by default zeros.

    Returns:
        The state (L, 1, H) at the end of the last segment, on the host, if a chunk ended there.
    """
    reading = _Reading(model, part, table, start, precision)
    reading.read(take, {} if begin_state is None else {0: begin_state})
    return reading.mend(take)


class _Reading:
    """Runs the pieces of a table, and again those that began from a wrong state."""

    def __init__(
        self, model: CharRNN, part: Part, table: Integers, start: int, precision: str
    ) -> None:
        """The arguments are those of `run`."""
        self._model, self._part, self._table = model, part, table
        self._start, self._precision = start, precision
        self._assumed: dict[int, State] = {}  # by the row of the table: where what counts begins
        self._final: dict[int, State] = {}  # and where it ends

    @torch.inference_mode()
    def read(
        self,
        take: Callable[[Chunk], object],
        begin_states: Mapping[int, State],
        ranks: Ranks = ALONE,
    ) -> None:
        """Run all pieces, in every process its share; `take` is given the chunks of this one."""
        _, begin, end = self._table.T
        for chunk in scoring.shared_chunks(
            self._model,
            self._part,
            start=self._start,
            segments=self._table,
            precision=self._precision,
            begin_states=begin_states,
            ranks=ranks,
        ):
            take(chunk)
            self._assumed |= _states_at(chunk, begin)
            self._final |= _states_at(chunk, end)
        self._assumed, self._final = ranks.merged(self._assumed), ranks.merged(self._final)

    @torch.inference_mode()
    def mend(
        self,
        take: Callable[[Chunk], object],
        take_back: Callable[[int, int], object] = lambda begin, end: None,
    ) -> State | None:
        """Run those again that began from a wrong state, now from the right one.

        `take_back` is told the places of such a piece, from the first to before the last, before
        `take` is given its chunks. Returns the state at the end of the table, as `run` does.
        """
        warm, begin, end = self._table.T
        for row in np.flatnonzero(warm < begin).tolist():  # in the order of the text
            before = self._final[row - 1]
            if _near(self._assumed[row], before):
                continue
            take_back(begin[row], end[row])
            again = np.array([[begin[row], begin[row], end[row]]])
            for chunk in scoring.chunks(
                self._model,
                self._part,
                start=self._start,
                segments=again,
                precision=self._precision,
                begin_states={0: before},
            ):
                take(chunk)
                self._final[row] = _on_host(*chunk.state)
        return self._final.get(len(self._table) - 1)


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


def may_cut(
    model: CharRNN, part: Part, start: int, precision: str = "fp32", processes: int = 1
) -> bool:
    """Whether documents of a part are better cut: they are few and long, and the network forgets.

    It is tried on the longest document, whether a piece that is warmed up comes to the state that
    it should.
    """
    documents = protocols.streaming(part)
    if len(pieces(documents, processes)) == len(documents):
        return False
    first = int(documents[np.argmax(documents[:, 2] - documents[:, 0]), 0])
    middle = first + CHUNK
    trial = np.array([[first, first, middle + CHUNK], [middle, middle, middle + CHUNK]])
    states: dict[int, State] = {}
    for chunk in scoring.chunks(model, part, start=start, segments=trial, precision=precision):
        states |= _states_at(chunk, trial[:, 2])
    return _near(states[1], states[0])


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
