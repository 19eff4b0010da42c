"""The torch engine, and the step that it shares with the cuda_graph engine.

The weights are prepared once, so that a step does less than a call of the model: the product of a
one-hot input is a row of a table, and the matrices are stored as the products read them.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat

import numpy as np
import torch
from torch import Tensor

from seqkit.foundation.machine import SharedCores
from seqkit.generation.engine import NOTHING_TOLD
from seqkit.generation.sampling import Sampling, draw
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.symbols import Floats, Integers

_TRANSPOSED = 768  # from so many hidden units on, products are faster with transposed matrices

Layers = list[tuple[Tensor, Tensor]]
"""The state of each layer: h and c, each (S, H)."""


class PreparedStep:
    """A callable that makes steps on the model's device, in any dtype."""

    @torch.inference_mode()
    def __init__(self, model: CharRNN, size: int, dtype: torch.dtype = torch.float32) -> None:
        """`size` is the codec's V; logits that the model has beyond it are left out."""
        self._size = size
        self._cell = model.config.cell
        self._clip = model.config.clip
        self._skips = model.config.skip_connections
        self._dtype = dtype
        layers = [cells.weights_of(layer) for layer in model.layers]
        self._table = self._prepared(model.input_table())
        told = model.condition_table()
        self._told = None if told is None else self._prepared(told)
        self._transposed = model.config.hidden_size >= _TRANSPOSED
        self._inputs = [self._matrix(layer.w) for layer in layers]
        self._hidden = [self._matrix(layer.u) for layer in layers]
        self._biases = [(self._prepared(layer.b), self._prepared(layer.d)) for layer in layers]
        self._fused_cell: Callable[..., tuple[Tensor, Tensor, Tensor]] | None = None
        if self._table.is_cuda and self._cell == "lstm" and not self._clip:
            # PyTorch's own: one kernel for biases, gates and both new values, if it is there.
            self._fused_cell = getattr(torch.ops.aten, "_thnn_fused_lstm_cell", None)
        self._head = self._matrix(model.head.weight[:size])
        self._head_bias = self._prepared(model.head.bias[:size])

    @torch.inference_mode()
    def renew(self, model: CharRNN) -> None:
        """Take the weights of `model` as they are now; recordings of a step see them, too.

        What needs no preparing is the model's own memory: it is to be the model that was prepared.
        """
        now = PreparedStep(model, self._size, self._dtype)
        torch._foreach_copy_(self._tensors(), now._tensors())

    def _tensors(self) -> list[Tensor]:
        biases = [bias for pair in self._biases for bias in pair]
        tables = [self._table] if self._told is None else [self._table, self._told]
        return [*tables, *self._inputs, *self._hidden, *biases, self._head, self._head_bias]

    def _prepared(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._dtype).contiguous()

    def _matrix(self, weight: Tensor) -> Tensor:
        return self._prepared(weight.T if self._transposed else weight)

    def _columns(self, matrix: Tensor) -> Tensor:
        return matrix if self._transposed else matrix.T

    def split(self, state: State) -> Layers:
        """The state in the form that a step takes."""
        h, c = (self._prepared(values) for values in state)
        return list(zip(h.unbind(), c.unbind(), strict=True))

    @torch.inference_mode()
    def __call__(
        self, symbols: Tensor, layers: Layers, conditions: Tensor | None = None
    ) -> tuple[Tensor, Layers]:
        """Feed symbols (S,): the logits (S, V) of what follows, in fp32, and the state after.

        `conditions` (S,) tell of what follows; None: nothing is told.
        """
        after: Layers = []
        x = torch.index_select(self._table, 0, symbols)
        if self._told is not None:
            x = x + (self._told[0] if conditions is None else self._told[conditions])
        for index, (h, c) in enumerate(layers):
            inputs = x @ self._columns(self._inputs[index]) if index else x
            hidden = h @ self._columns(self._hidden[index])
            after.append(self._advance(index, inputs, hidden, h, c))
            x = after[-1][0]
        if self._skips:
            x = torch.stack([h for h, _ in after]).sum(0)
        return torch.addmm(self._head_bias, x, self._columns(self._head)).float(), after

    def score(
        self, symbols: Integers, state: State, conditions: Integers | None = None
    ) -> tuple[Floats, State]:
        """See Engine: feed symbols (N, S) step by step."""
        layers, rows = self.split(state), []
        told = repeat(None) if conditions is None else self.on_device(conditions)
        for row, row_told in zip(self.on_device(symbols), told, strict=False):
            logits, layers = self(row, layers, row_told)
            rows.append(logits)
        h, c = (torch.stack(values).float() for values in zip(*layers, strict=True))
        return torch.stack(rows).cpu().numpy(), State(h, c)

    def on_device(self, values: Integers) -> Tensor:
        """Symbols or conditions where the step runs."""
        return torch.from_numpy(values).to(self._table.device)

    def _advance(
        self, index: int, inputs: Tensor, hidden: Tensor, h: Tensor, c: Tensor
    ) -> tuple[Tensor, Tensor]:
        b, d = self._biases[index]
        if self._fused_cell is not None:
            h, c, _ = self._fused_cell(inputs, hidden, c, b, d)
            return h, c
        return cells.cell_step(self._cell, inputs + b, hidden + d, h, c, cell_clip=self._clip)


class TorchEngine:
    """Generates step by step, on any device: the reference."""

    block = 16

    def __init__(self, model: CharRNN, size: int) -> None:
        """`size` is the codec's V."""
        self._step = PreparedStep(model, size)
        self._device = model.head.weight.device

    def sample(
        self,
        symbols: Integers,
        state: State,
        draws: Iterable[Floats],
        sampling: Sampling,
        conditions: Iterable[Integers] = NOTHING_TOLD,
    ) -> Iterator[Integers]:
        """See Engine."""
        layers = self._step.split(state)
        with SharedCores(self._device) as cores:
            for block, told in zip(draws, chain(conditions, repeat(None)), strict=False):
                drawn = []
                rows = repeat(None) if told is None else self._step.on_device(told)
                for uniform, row in zip(block, rows, strict=False):
                    fed = self._step.on_device(symbols)
                    logits, layers = self._step(fed, layers, row)
                    symbols = draw(logits.cpu().numpy(), uniform, sampling)
                    drawn.append(symbols)
                yield np.stack(drawn)
                cores.adapt()

    def score(
        self, symbols: Integers, state: State, conditions: Integers | None = None
    ) -> tuple[Floats, State]:
        """See Engine."""
        return self._step.score(symbols, state, conditions)
