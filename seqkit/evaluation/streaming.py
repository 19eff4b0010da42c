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
from dataclasses import dataclass

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import scoring
from seqkit.evaluation.scoring import CHUNK, LANES, Chunk, Score, Scored, total
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, symbol_dtype

_PIECES = 4 * CHUNK, 16 * CHUNK  # symbols of a piece, at least and at most
_STRETCH = 512 * CHUNK  # symbols; up to one piece more
_FIRST = 8 * CHUNK  # of the first stretch, which somebody waits for
_NEAR = 1e-3  # between two h, and between two c in relation to their size


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


def evaluate(scored: Scored) -> Score:
    """The score of a part whose documents are streamed from the zero state to their ends."""
    return total(scored.part, ((np.arange(x.begin, x.end), x.nats) for x in stretches(scored)))


def stretches(scored: Scored, likeliest: int = 0) -> Iterator[Stretch]:
    """What a part's symbols are to a model that streams it, from the first to the last.

    `likeliest` says how many of the symbols that were expected most are told beside each.
    """
    different, table = scored.model.config.symbols, pieces(scored.part)
    edges = np.flatnonzero(np.diff((table[:, 1] - _FIRST) // _STRETCH)) + 1
    state: State | None = None
    for rows in np.split(table, edges):
        (warm, begin, _), end = rows[0].tolist(), int(rows[-1, 2])
        rows[0, 0] = begin  # the state there is known
        size = end - begin, min(likeliest, different)
        empty = np.zeros(size, symbol_dtype(different)), np.zeros(size, np.float32)
        stretch = Stretch(begin, np.zeros(size[0], np.float32), *empty)

        def watch(done: int, begin: int = begin) -> None:
            scored.watch(begin + done)

        watched = dataclasses.replace(scored, watch=watch)
        state = _run(watched, rows, stretch, state if warm < begin else None)
        yield stretch


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
def _run(
    scored: Scored, rows: Integers, stretch: Stretch, begin_state: State | None
) -> State | None:
    """Fill a stretch with its pieces, each of which goes on where the one before ended.

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
        _fill(stretch, chunk)
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
            _fill(stretch, chunk)
            final[row] = chunk.after.on("cpu")
    return final.get(len(rows) - 1)


def _fill(stretch: Stretch, chunk: Chunk) -> None:
    """Write down what a chunk tells; of places that come again, the last word."""
    places, nats = chunk.counted_nats()
    places = places - stretch.begin
    stretch.nats[places] = nats
    if most := stretch.likeliest.shape[1]:
        logits = chunk.logits[torch.from_numpy(chunk.counted).to(chunk.nats.device)]
        expected = logits.topk(most)
        chances = (expected.values - logits.logsumexp(-1)[:, None]).exp()
        stretch.likeliest[places] = expected.indices.cpu().numpy()
        stretch.chances[places] = chances.cpu().numpy()


def _states_at(chunk: Chunk, places: Integers) -> dict[int, State]:
    """The state (L, 1, H) of each row of the table that has just come to its place in `places`."""
    reached = chunk.places[-1] + 1 == places[chunk.segments]
    return {
        int(chunk.segments[lane]): State(*(x[:, lane : lane + 1] for x in chunk.after)).on("cpu")
        for lane in np.flatnonzero(reached)
    }
