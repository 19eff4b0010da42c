"""The engine of the last call, which the next one takes if it fits: a new one takes time."""

import dataclasses
import logging
from collections.abc import Iterator

from seqkit.generation.engine import Blocks, Engine
from seqkit.generation.engines.choose import choose_engine
from seqkit.generation.request import Request
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Integers

_LOG = logging.getLogger("seqkit")


class KeptEngine:
    """Keeps an engine of a network from one call to the next."""

    def __init__(self, network: CharRNN, size: int) -> None:
        """`size` is the codec's V."""
        self._network = network
        self._size = size
        self._kept: tuple[object, Engine] | None = None

    def take(self, request: Request) -> Engine:
        """An engine: the last one if it fits and nothing uses it."""
        kept, self._kept = self._kept, None
        if kept is not None and kept[0] == self._key(request):
            return kept[1]
        kept = None  # its memory first
        return choose_engine(self._network, self._size, request, _LOG.info)

    def until_free(self, blocks: Blocks, request: Request, engine: Engine) -> Iterator[Integers]:
        """The first stream (N,) of blocks that an engine makes, which is kept after the last."""
        key = self._key(request)
        for block in blocks:
            yield block[:, 0]
        self._kept = (key, engine)

    def _key(self, request: Request) -> object:
        """What an engine depends on: the request but for its draws, and the weights it copied."""
        sampling = dataclasses.replace(request.sampling, seed=0)
        weights = [(own.data_ptr(), own._version) for own in self._network.parameters()]
        return dataclasses.replace(request, length=1, sampling=sampling, retry=0), weights
