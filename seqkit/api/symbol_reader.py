"""Reading with explicit state: symbols in, logits and the state after them out."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seqkit.config import DynamicConfig
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Part
from seqkit.evaluation import dynamic, protocols, scoring
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_section, check_type
from seqkit.generation.reading import read
from seqkit.model.activations import activations
from seqkit.model.char_rnn import CharRNN
from seqkit.model.loss import cross_entropy
from seqkit.model.network import State
from seqkit.symbols import Floats, Symbols


class ModelState(NamedTuple):
    """What a model has read: hidden and cell values (L, H), and the symbol that it sees next."""

    h: Floats
    c: Floats
    symbol: int


class SymbolReader:
    """Reads symbols with a network; the start symbol comes before the first of them."""

    def __init__(self, network: CharRNN, codec: Codec) -> None:
        self._network = network
        self._codec = codec

    def begin(self, state: ModelState | None) -> ModelState:
        """A given state, checked; else zeros and the codec's start symbol."""
        shape = (self._network.config.num_layers, self._network.config.hidden_size)
        if state is None:
            zeros = np.zeros(shape, np.float32)
            return ModelState(zeros, zeros, self._codec.start)
        check_type("state", state, ModelState)
        for name, values in (("h", state.h), ("c", state.c)):
            if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
                raise ConfigError(f"state.{name}: expected an array of floating-point numbers")
            if values.shape != shape:
                raise ConfigError(
                    f"state.{name}: expected (L, H) = {shape}, got {values.shape}: it is another "
                    "model's"
                )
            if not (np.abs(values) <= np.finfo(np.float32).max).all():
                raise ConfigError(f"state.{name}: a value is not finite")
        check_type("state.symbol", state.symbol, int)
        if not 0 <= state.symbol < self._codec.size:
            raise ConfigError(
                f"state.symbol={state.symbol}: this model has {self._codec.size} symbols, from 0: "
                "it is another model's"
            )
        h, c = (np.array(values, dtype=np.float32, order="C") for values in state[:2])
        return ModelState(h, c, int(state.symbol))

    def after(self, symbols: npt.ArrayLike, begin: ModelState) -> ModelState:
        """The state after symbols (N,)."""
        after = begin
        for *_, state in self.feed(np.asarray(symbols), begin):
            after = state
        return after

    def feed(
        self, symbols: npt.NDArray[Any], begin: ModelState
    ) -> Iterator[tuple[Tensor, Tensor, ModelState]]:
        """Read symbols (N,) in blocks: logits (n, V) of them, themselves, and the state after."""
        state, following = self.on_device(begin)
        fed = np.concatenate([[following], symbols]).astype(np.int64)
        targets = torch.from_numpy(fed[1:])
        for logits, after in read(self._network, self._codec.size, fed[:-1], state):
            block, targets = targets[: len(logits)], targets[len(logits) :]
            h, c = (values[:, 0].cpu().numpy() for values in after)
            yield logits, block.to(logits.device), ModelState(h, c, int(block[-1]))

    def nats(self, symbols: Symbols, state: ModelState | None) -> tuple[Floats, ModelState]:
        """-ln p (N,) of symbols (N,), each given those before it, and the state after them."""

        def row(logits: Tensor, targets: Tensor) -> Tensor:
            return cross_entropy(logits[:, None], targets[:, None], "none")[:, 0]

        rows, after = self._rows(symbols, self.begin(state), row)
        return np.concatenate([np.zeros(0, np.float32), *rows]), after

    def logits(self, symbols: Symbols, state: ModelState | None) -> tuple[Floats, ModelState]:
        """Logits (N + 1, V) of what follows the first n symbols (N,), and the state after all."""
        rows, after = self._rows(symbols, self.begin(state), lambda logits, _: logits)
        # One more input gives the row of what follows, whichever symbol does.
        last, _ = self._rows(np.zeros(1, symbols.dtype), after, lambda logits, _: logits)
        return np.concatenate([*rows, *last]), after

    def _rows(
        self, symbols: Symbols, begin: ModelState, row: Callable[[Tensor, Tensor], Tensor]
    ) -> tuple[list[Floats], ModelState]:
        """What `row` makes of the logits (n, V) and symbols (n,) of each block; the state after."""
        rows, after = [], begin
        for logits, targets, state in self.feed(symbols, begin):
            rows.append(row(logits, targets).cpu().numpy())
            after = state
        return rows, after

    def dynamic_nats(self, symbols: Symbols, settings: DynamicConfig) -> Floats:
        """-ln p (N,) of symbols (N,) from the zero state, by a copy of the network that learns.

        Raises:
            ConfigError: a setting of another type or out of range.
        """
        check_type("dynamic", settings, DynamicConfig)
        check_section(settings, "dynamic.")
        found = np.zeros(len(symbols), np.float32)
        if len(symbols):
            part, start = Part.of(symbols), self._codec.start
            for places, nats in dynamic.nats(self._network, part, start=start, settings=settings):
                found[places] = nats
        return found

    @torch.inference_mode()
    def activations(self, symbols: Symbols) -> Floats:
        """Of every cell (N, L, H), before each of the symbols (N,), from the zero state."""
        model, config = self._network, self._network.config
        network = model.network(dtype=torch.float32)
        found = np.zeros((len(symbols), config.num_layers, config.hidden_size), np.float32)
        if not len(symbols):
            return found
        part, start = Part.of(symbols), self._codec.start
        segments = protocols.streaming(part)
        for chunk in scoring.chunks(model, part, start=start, segments=segments, precision="fp32"):
            for layer in range(config.num_layers):
                values = activations(network, chunk.trace, layer, slice(None))
                found[chunk.places[:, 0], layer] = values[:, 0].cpu().numpy()
        return found

    def on_device(self, state: ModelState) -> tuple[State, int]:
        """A state as the network takes it, (L, 1, H), and the symbol that is fed next."""
        h, c = (torch.tensor(values, dtype=torch.float32)[:, None] for values in state[:2])
        device = self._network.head.weight.device
        return State(h.to(device), c.to(device)), int(state.symbol)
