"""How surprising every symbol of a part is, told in the order of the part.

It is what `streaming` scores, stretch by stretch: each is run in pieces side by side, and goes on
from the state in which the one before ended. So memory is bounded, however long the part is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, streaming
from seqkit.evaluation.scoring import CHUNK, Chunk
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import Network, State
from seqkit.symbols import Floats, Integers, symbol_dtype

_STRETCH = 256 * CHUNK  # symbols


@dataclass(frozen=True)
class Cell:
    """One cell of a network: its layer and its index in it, both from 0."""

    layer: int
    index: int

    def __str__(self) -> str:
        return f"{self.layer}:{self.index}"


@dataclass(frozen=True)
class Wanted:
    """What is told of every symbol beside its nats.

    size: V, the codec's; logits that the model has beyond it are no symbols.
    likeliest: how many of the symbols that were expected, 0 for none.
    cell: whose activation, None for none.
    """

    size: int
    likeliest: int = 0
    cell: Cell | None = None


@dataclass(frozen=True)
class Stretch:
    """Some symbols of a part, in its order, from the place `begin` on.

    nats (n,): the surprise of each.
    likeliest, chances (n, K): the K symbols that were expected most, and how much, in order.
    activations (n,): of the cell, in the state from which the symbol was predicted: that after all
        symbols before it. Empty if no cell is wanted.
    """

    begin: int
    nats: Floats
    likeliest: Integers
    chances: Floats
    activations: Floats

    @property
    def end(self) -> int:
        """The place after the last symbol."""
        return self.begin + len(self.nats)

    def cut(self, begin: int, end: int) -> "Stretch":
        """What is told of the places from `begin` to `end`, copied."""
        rows = slice(begin - self.begin, end - self.begin)
        return Stretch(
            begin,
            self.nats[rows].copy(),
            self.likeliest[rows].copy(),
            self.chances[rows].copy(),
            self.activations[rows].copy(),
        )


def stretches(
    model: CharRNN,
    part: Part,
    *,
    start: int,
    wanted: Wanted,
    watch: Callable[[int], None] = lambda done: None,
    soon: bool = False,
) -> Iterator[Stretch]:
    """What a part's symbols are to a model that streams it, from the first to the last.

    Args:
        model: on the device where it is to run.
        part: the symbols; at least one.
        start: the codec's start symbol, the input before each document.
        wanted: what is told.
        watch: called after every chunk with the symbols scored so far.
        soon: whether the first stretch is to be short, since somebody waits for it.
    """
    network = model.network(dtype=torch.float32)
    documents = protocols.streaming(part)
    state: State | None = None
    for begin, end in _places(part, CHUNK if soon else _STRETCH):
        table = documents[(documents[:, 2] > begin) & (documents[:, 0] < end)]
        table = table.clip(begin, end)
        found = _Found(network, begin, end, wanted, watch)
        state = streaming.run(
            *(model, part, streaming.pieces(table)),
            start=start,
            take=found.take,
            begin_state=state if begin not in part.starts else None,
        )
        yield found.stretch()


def _places(part: Part, first_size: int) -> Iterator[tuple[int, int]]:
    """Where stretches begin and end.

    One that ends within a document does so a multiple of `CHUNK` after where it, or the document,
    begins: the state there is known. The first has at most `first_size` symbols.
    """
    begin, size = 0, first_size
    while begin < len(part):
        end = min(begin + size, len(part))
        document = int(np.searchsorted(part.starts, end)) - 1  # the last that begins before
        following = [*part.starts[document + 1 : document + 2], len(part)][0]
        if end < following:
            first = max(begin, int(part.starts[document]))
            end = first + (end - first) // CHUNK * CHUNK
        yield begin, end
        begin, size = end, _STRETCH


class _Found:
    """Collects what chunks tell of the places from `begin` to `end`."""

    def __init__(
        self, network: Network, begin: int, end: int, wanted: Wanted, watch: Callable[[int], None]
    ) -> None:
        self._network, self._begin, self._wanted, self._watch = network, begin, wanted, watch
        self._counted = 0
        count, most = end - begin, min(wanted.likeliest, wanted.size)
        self._nats = np.zeros(count, np.float32)
        self._likeliest = np.zeros((count, most), symbol_dtype(wanted.size))
        self._chances = np.zeros((count, most), np.float32)
        self._activations = np.zeros(count if wanted.cell else 0, np.float32)

    @torch.inference_mode()
    def take(self, chunk: Chunk) -> None:
        """Take what a chunk tells; of places that come again, the last word."""
        places, nats = chunk.counted_nats()
        places = places - self._begin
        self._nats[places] = nats
        counted = torch.from_numpy(chunk.counted).to(chunk.nats.device)
        if most := self._likeliest.shape[1]:
            logits = chunk.logits[counted]
            expected = logits[:, : self._wanted.size].topk(most)
            chances = (expected.values - logits.logsumexp(-1)[:, None]).exp()
            self._likeliest[places] = expected.indices.cpu().numpy()
            self._chances[places] = chances.cpu().numpy()
        if cell := self._wanted.cell:
            own = slice(cell.index, cell.index + 1)
            values = self._network.activations(chunk.trace, cell.layer, own)[..., 0]
            self._activations[places] = values[counted].cpu().numpy()
        self._counted += len(places)
        self._watch(self._begin + min(self._counted, len(self._nats)))

    def stretch(self) -> Stretch:
        """All that was told."""
        found = (self._nats, self._likeliest, self._chances, self._activations)
        return Stretch(self._begin, *found)
