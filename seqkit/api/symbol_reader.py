"""Reading with explicit state: symbols in, logits and the state after them out."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seqkit.api.model_state import ModelState, beginning, carried, kept
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.evaluation.scoring import Chunk
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Floats, Symbols


class SymbolReader:
    """Reads symbols with a network; the start symbol comes before the first of them."""

    def __init__(self, network: CharRNN, codec: Codec) -> None:
        self._network = network
        self._codec = codec

    def nats(self, symbols: Symbols, state: ModelState | None) -> tuple[Floats, ModelState]:
        """-ln p (N,) of symbols (N,), each given those before it, and the state after them."""
        begin = beginning(state, self._network.config, self._codec)
        rows, after = self._rows(symbols, begin, lambda chunk: chunk.nats[:, 0])
        return np.concatenate([np.zeros(0, np.float32), *rows]), after

    def logits(self, symbols: Symbols, state: ModelState | None) -> Floats:
        """Logits (N + 1, V) of what follows the first n symbols (N,)."""

        def row(chunk: Chunk) -> Tensor:
            return chunk.logits[:, 0, : self._codec.size].float()

        rows, after = self._rows(symbols, beginning(state, self._network.config, self._codec), row)
        # One more input gives the row of what follows, whichever symbol does.
        last, _ = self._rows(np.zeros(1, symbols.dtype), after, row)
        return np.concatenate([*rows, *last])

    @torch.inference_mode()
    def _rows(
        self, symbols: npt.NDArray[Any], begin: ModelState, row: Callable[[Chunk], Tensor]
    ) -> tuple[list[Floats], ModelState]:
        """What `row` makes of each chunk of symbols (N,), and the state after them."""
        rows, after = list[Floats](), begin
        if not len(symbols):
            return rows, after
        state, start = carried(begin)
        state = state.on(self._network.device)
        part = Part.of(symbols.astype(np.uint32))
        scored = scoring.Scored(self._network, part, start)
        for chunk in scoring.chunks(scored, protocols.streaming(part), begin_state=state):
            rows.append(row(chunk).cpu().numpy())
            after = kept(chunk.after, int(symbols[chunk.places[-1, 0]]))
        return rows, after
