"""Streaming evaluation of a few long documents, in pieces that run side by side.

A step of one lane takes about as long as a step of eight. So each document is cut into pieces, and
every piece but the first is warmed up on the symbols before it. A network forgets where it began,
so that a piece starts from the state in which the one before it ended. That is checked: a piece of
which it is not true is run again from that very state.
"""

from collections.abc import Callable

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.evaluation.protocols import LANES
from seqkit.evaluation.score import Score, Tally
from seqkit.evaluation.scoring import CHUNK, Chunk, Scored
from seqkit.model.state import State
from seqkit.symbols import Integers

_ENOUGH = 8  # documents that keep all lanes of a call busy by themselves
PIECE = 4 * CHUNK
"""Symbols of a piece, at least."""
_NEAR = 1e-3  # between two h, and between two c in relation to their size


def evaluate(scored: Scored) -> Score:
    """The score of a part whose documents are streamed from the zero state to their ends."""
    tally = Tally(scored.part)
    table = pieces(scored.part, scored.ranks.rank.size)
    run(scored, table, lambda chunk: tally.add(*chunk.counted_nats()), tally.take_back)
    tally.add_up(scored.ranks)
    return tally.score()


@torch.inference_mode()
def run(
    scored: Scored,
    table: Integers,
    take: Callable[[Chunk], object],
    take_back: Callable[[int, int], object] = lambda begin, end: None,
    begin_state: State | None = None,
) -> State | None:
    """Run a table made by `pieces`, each of which goes on where the one before ended.

    Args:
        scored: the model and the part.
        table: the segments, in the order of the part.
        take: given every chunk of this process, in no order that means anything; those of a piece
            that began from a wrong state come once more, to rank 0.
        take_back: told the places of such a piece before that, from the first to before the last.
        begin_state: (L, 1, H), of the first segment; by default zeros.

    Returns:
        The state (L, 1, H) at the end of the last segment, on the host, if a chunk ended there.
    """
    ranks = scored.ranks
    warm, begin, end = table.T
    follows = warm < begin
    begins = np.where(follows, begin, -1)
    ends = np.where(np.append(follows[1:], True), end, -1)
    # By the row of the table, the states where what counts begins, and where it ends.
    assumed, final = dict[int, State](), dict[int, State]()
    for chunk in scoring.chunks(scored, table, begin_state=begin_state):
        take(chunk)
        assumed |= _states_at(chunk, begins)
        final |= _states_at(chunk, ends)
    assumed, final = ranks.merged(assumed), ranks.merged(final)
    alone = Scored(scored.model, scored.part, scored.start)
    for row in sorted(assumed):  # in the order of the text: there is nothing to share out
        if _near(assumed[row], final[row - 1]):
            continue
        take_back(int(begin[row]), int(end[row]))
        again = np.array([[begin[row], begin[row], end[row]]])
        for chunk in scoring.chunks(alone, again, begin_state=final[row - 1]):
            if ranks.leads:
                take(chunk)
            final[row] = _on_host(chunk.trace.after)
    return final.get(len(table) - 1)


def pieces(part: Part, processes: int = 1) -> Integers:
    """The segments, in the order of the part, of its documents, which are cut where they are few.

    A piece but a document's first is warmed up on `CHUNK` symbols; its length is a multiple of
    that, or the next that cuts no frame, and at most `LANES` pieces for each of the processes are
    made of a document.
    """
    documents = protocols.streaming(part)
    if len(documents) >= _ENOUGH * processes:
        return documents
    total = int((documents[:, 2] - documents[:, 0]).sum())
    size = max(PIECE, -(-total // (LANES * processes) // CHUNK) * CHUNK)
    return protocols.cut(documents, part.whole_frames(size), warm=part.whole_frames(CHUNK))


def _states_at(chunk: Chunk, places: Integers) -> dict[int, State]:
    """The state (L, 1, H) of each row of the table that has just come to its place in `places`."""
    reached = chunk.places[-1] + 1 == places[chunk.segments]
    return {
        int(chunk.segments[lane]): _on_host(
            State(*(values[:, lane : lane + 1] for values in chunk.trace.after))
        )
        for lane in np.flatnonzero(reached).tolist()
    }


def _on_host(state: State) -> State:
    return State(*(values.cpu() for values in state))


def _near(assumed: State, true: State) -> bool:
    """Whether the next symbols are predicted alike from both; a saturated c may be large."""
    h = (assumed.h - true.h).abs()
    c = (assumed.c - true.c).abs() / (1 + true.c.abs())
    return bool(h.max() < _NEAR) and bool(c.max() < _NEAR)
