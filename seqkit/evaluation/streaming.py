"""Streaming evaluation: every document from the zero state to its end, in pieces side by side.

A step of one lane takes about as long as a step of eight. So long documents are cut into pieces,
and every piece but the first is warmed up on the symbols before it. A network forgets where it
began, so that a piece starts from the state in which the one before it ended. That is checked: a
piece of which it is not true is run again from that very state.

Some pieces at a time make a stretch, which goes on from the state in which the one before ended. So
memory is bounded, however long the part is.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import scoring
from seqkit.evaluation.scoring import CHUNK, LANES, Chunk, Score, Scored, total
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers

_PIECES = 4 * CHUNK, 16 * CHUNK  # symbols of a piece, at least and at most
_STRETCH = 512 * CHUNK  # symbols; up to one piece more
_FIRST = 8 * CHUNK  # of the first stretch, which somebody waits for
_NEAR = 1e-3  # between two h, and between two c in relation to their size


def evaluate(scored: Scored) -> Score:
    """The score of a part whose documents are streamed from the zero state to their ends."""
    found = ((np.arange(begin, begin + len(nats)), nats) for begin, nats in stretches(scored))
    return total(scored.part, found)


def stretches(scored: Scored) -> Iterator[tuple[int, Floats]]:
    """The nats (n,) of a part's symbols, stretch by stretch from the first, and where each begins.

    They are those of a model that streams the part.
    """
    table = pieces(scored.part)
    edges = np.flatnonzero(np.diff((table[:, 1] - _FIRST) // _STRETCH)) + 1
    state: State | None = None
    for rows in np.split(table, edges):
        (warm, begin, _), end = rows[0].tolist(), int(rows[-1, 2])
        rows[0, 0] = begin  # the state there is known
        nats = np.zeros(end - begin, np.float32)

        def watch(done: int, begin: int = begin) -> None:
            scored.watch(begin + done)

        watched = dataclasses.replace(scored, watch=watch)
        state = _run(watched, rows, nats, state if warm < begin else None)
        yield begin, nats


def pieces(part: Part) -> Integers:
    """The segments, in the order of the part, of its documents, of which long ones are cut.

    A piece but a document's first is warmed up on `CHUNK` symbols; its length is a multiple of
    that, or the next that cuts no frame.
    """
    least, most = _PIECES
    size = min(max(least, -(-len(part) // LANES // CHUNK) * CHUNK), most)
    size, warm = map(part.whole_frames, (size, CHUNK))
    return scoring.cut(scoring.streaming(part), size, warm=warm)


@torch.inference_mode()
def _run(scored: Scored, rows: Integers, nats: Floats, begin_state: State | None) -> State | None:
    """Fill the nats (n,) of a stretch by its pieces, each of which goes on where the last ended.

    `begin_state` (L, 1, H) is that of the first one, by default zeros. Returns the state (L, 1, H)
    at the end of the last one, on the host, if a chunk ended there: it does within a document.
    """
    warm, begin, end = rows.T
    follows = warm < begin
    begins = np.where(follows, begin, -1)
    ends = np.where(np.append(follows[1:], True), end, -1)
    # By the row of the table, the states where what counts begins, and where it ends.
    assumed, final = dict[int, State](), dict[int, State]()
    for chunk in scoring.chunks(scored, rows, begin_state=begin_state):
        _fill(nats, int(begin[0]), chunk)
        assumed |= _states_at(chunk, begins)
        final |= _states_at(chunk, ends)
    for row in sorted(assumed):  # in the order of the text
        (h, c, _), (true_h, true_c, _) = assumed[row], final[row - 1]
        gap = (h - true_h).abs(), (c - true_c).abs() / (1 + true_c.abs())  # a c may be large
        if all(bool(own.max() < _NEAR) for own in gap):  # what follows is predicted alike
            continue
        again = np.array([[begin[row], begin[row], end[row]]])
        unwatched = Scored(scored.model, scored.part, scored.start)
        for chunk in scoring.chunks(unwatched, again, begin_state=final[row - 1]):
            _fill(nats, int(begin[0]), chunk)
            final[row] = chunk.after.on("cpu")
    return final.get(len(rows) - 1)


def _fill(nats: Floats, begin: int, chunk: Chunk) -> None:
    """Write down a chunk's nats; of places that come again, the last ones count."""
    places, found = chunk.counted_nats()
    nats[places - begin] = found


def _states_at(chunk: Chunk, places: Integers) -> dict[int, State]:
    """The state (L, 1, H) of each row of the table that has just come to its place in `places`."""
    reached = chunk.places[-1] + 1 == places[chunk.segments]
    return {
        int(chunk.segments[lane]): State(*(x[:, lane : lane + 1] for x in chunk.after)).on("cpu")
        for lane in np.flatnonzero(reached)
    }
