"""The torch engine, and the step that it shares with the cuda_graph engine.

The weights are prepared once, so that a step does less than a call of the model: the product of a
one-hot input is a row of a table, and the matrices are stored as the products read them.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from seqkit.foundation.machine import SharedCores
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
        return [self._table, *self._inputs, *self._hidden, *biases, self._head, self._head_bias]

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
    def __call__(self, symbols: Tensor, layers: Layers) -> tuple[Tensor, Layers]:
        """Feed symbols (S,): the logits (S, V) of what follows, in fp32, and the state after."""
        after: Layers = []
        x = torch.index_select(self._table, 0, symbols)
        for index, (h, c) in enumerate(layers):
            inputs = x @ self._columns(self._inputs[index]) if index else x
            hidden = h @ self._columns(self._hidden[index])
            after.append(self._advance(index, inputs, hidden, h, c))
            x = after[-1][0]
        if self._skips:
            x = torch.stack([h for h, _ in after]).sum(0)
        return torch.addmm(self._head_bias, x, self._columns(self._head)).float(), after

    def score(self, symbols: Integers, state: State) -> tuple[Floats, State]:
        """See Engine: feed symbols (N, S) step by step."""
        layers, rows = self.split(state), []
        for row in torch.from_numpy(symbols).to(self._table.device):
            logits, layers = self(row, layers)
            rows.append(logits)
        h, c = (torch.stack(values).float() for values in zip(*layers, strict=True))
        return torch.stack(rows).cpu().numpy(), State(h, c)

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
        self, symbols: Integers, state: State, draws: Iterable[Floats], sampling: Sampling
    ) -> Iterator[Integers]:
        """See Engine."""
        layers = self._step.split(state)
        with SharedCores(self._device) as cores:
            for block in draws:
                drawn = []
                for uniform in block:
                    fed = torch.from_numpy(symbols).to(self._device)
                    logits, layers = self._step(fed, layers)
                    symbols = draw(logits.cpu().numpy(), uniform, sampling)
                    drawn.append(symbols)
                yield np.stack(drawn)
                cores.adapt()

    def score(self, symbols: Integers, state: State) -> tuple[Floats, State]:
        """See Engine."""
        return self._step.score(symbols, state)
