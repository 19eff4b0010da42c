"""Streaming evaluation of a few long documents, in pieces that run side by side.

A step of one lane takes about as long as a step of eight. So each document is cut into pieces, and
every piece but the first is warmed up on the symbols before it. A network forgets where it began,
so that a piece starts from the state in which the one before it ended. That is checked: a piece of
which it is not true is run again from that very state. Networks of text forget, some of sound do
not: a trial at the beginning shows whether to cut at all.
"""

from collections.abc import Callable

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.evaluation.protocols import LANES
from seqkit.evaluation.score import Score, Tally
from seqkit.evaluation.scoring import CHUNK, Chunk
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
) -> Score:
    """The score of a part whose documents are streamed from the zero state to their ends.

    The arguments are those of `scoring.evaluate`.
    """
    if not may_cut(model, part, start, precision):
        documents = protocols.streaming(part)
        return scoring.evaluate(
            model, part, start=start, segments=documents, precision=precision, watch=watch
        )
    tally = Tally(part)

    def take(chunk: Chunk) -> None:
        tally.add(*chunk.counted_nats())
        watch(min(tally.counted, len(part)))

    table = pieces(protocols.streaming(part))
    run(
        model,
        part,
        table,
        start=start,
        precision=precision,
        take=take,
        take_back=tally.take_back,
    )
    return tally.score()


@torch.inference_mode()
def run(
    model: CharRNN,
    part: Part,
    table: Integers,
    *,
    start: int,
    precision: str,
    take: Callable[[Chunk], object],
    take_back: Callable[[int, int], object] = lambda begin, end: None,
    begin_state: State | None = None,
) -> State | None:
    """Run a table made by `pieces`, each of which goes on where the one before ended.

    Args:
        model: as in `scoring.evaluate`; so are part, start and precision.
        table: the segments, in the order of the part.
        take: given every chunk, in no order that means anything.
        take_back: told the places, from the first to before the last, of a piece that began from a
            wrong state, before its chunks are given once more.
        begin_state: (L, 1, H), of the first segment; by default zeros.

    Returns:
        The state (L, 1, H) at the end of the last segment, if a chunk ended there.
    """
    warm, begin, end = table.T
    states = {} if begin_state is None else {0: begin_state}
    assumed: dict[int, State] = {}  # by the row of the table: at `begin`
    final: dict[int, State] = {}  # and at `end`
    for chunk in scoring.chunks(
        model, part, start=start, segments=table, precision=precision, begin_states=states
    ):
        take(chunk)
        assumed |= _states_at(chunk, begin)
        final |= _states_at(chunk, end)
    for row in np.flatnonzero(warm < begin).tolist():  # in the order of the text
        if _near(assumed[row], final[row - 1]):
            continue
        take_back(begin[row], end[row])
        again = np.array([[begin[row], begin[row], end[row]]])
        for chunk in scoring.chunks(
            model,
            part,
            start=start,
            segments=again,
            precision=precision,
            begin_states={0: final[row - 1]},
        ):
            take(chunk)
            final[row] = chunk.state
    return final.get(len(table) - 1)


def pieces(documents: Integers) -> Integers:
    """The segments, in the order of the part, of documents (S, 3) that are cut where they are few.

    A piece but a document's first is warmed up on `CHUNK` symbols; its length is a multiple of
    that, and at most `LANES` pieces are made of a document.
    """
    if len(documents) >= _ENOUGH:
        return documents
    total = int((documents[:, 2] - documents[:, 0]).sum())
    size = max(_PIECE, -(-total // LANES // CHUNK) * CHUNK)
    rows = []
    for first, _, end in documents.tolist():
        begins = np.arange(first, end, size, dtype=np.int64)
        rows.append(
            np.stack(
                [np.maximum(begins - CHUNK, first), begins, np.minimum(begins + size, end)], axis=1
            )
        )
    return np.concatenate(rows)


def may_cut(model: CharRNN, part: Part, start: int, precision: str = "fp32") -> bool:
    """Whether documents of a part are better cut: they are few and long, and the network forgets.

    It is tried on the longest document, whether a piece that is warmed up comes to the state that
    it should.
    """
    documents = protocols.streaming(part)
    if len(pieces(documents)) == len(documents):
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
        int(chunk.segments[lane]): State(*(values[:, lane : lane + 1] for values in chunk.state))
        for lane in np.flatnonzero(reached).tolist()
    }


def _near(assumed: State, true: State) -> bool:
    """Whether the next symbols are predicted alike from both; a saturated c may be large."""
    h = (assumed.h - true.h).abs()
    c = (assumed.c - true.c).abs() / (1 + true.c.abs())
    return bool(h.max() < _NEAR) and bool(c.max() < _NEAR)
