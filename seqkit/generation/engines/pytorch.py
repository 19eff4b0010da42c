"""The torch engine, and the step that it shares with the cuda_graph engine.

The weights are prepared once, so that a step does less than a call of the model: the product of a
one-hot input is a row of a table, and the matrices are stored as the products read them.
"""

from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit.foundation.machine import shared_cores
from seqkit.generation.sampler import Drawing, draw, guided
from seqkit.lstm import cells
from seqkit.model.arrays import NetworkArrays
from seqkit.model.char_rnn import CharRNN
from seqkit.model.frames import rows_of
from seqkit.model.state import State, fed_of
from seqkit.symbols import Floats, Integers

_TRANSPOSED = 768  # from so many hidden units on, products are faster with transposed matrices

Carried = list[Tensor]
"""A state as steps carry it: of each layer h and c, (S, H).

If a step makes P symbols, z (S, P, M) follows, with the rows of the symbols that were fed, and the
frame (S, P - 1): see `frames` and `State.frame`.
"""


class PreparedStep:
    """A callable that makes steps on the model's device, in any dtype."""

    @torch.inference_mode()
    def __init__(self, model: CharRNN, size: int, dtype: torch.dtype = torch.float32) -> None:
        """`size` is the codec's V; logits that the model has beyond it are left out.

        The model has one label at most, as `NetworkArrays.with_choices` makes it.
        """
        assert len(model.config.labels) <= 1
        self._cell = model.config.cell
        self._skips = model.config.skip_connections
        self._dtype, self._device = dtype, model.device
        layers = model.runnable_weights().layers.weights
        table, labels = map(NetworkArrays.of(model).gate_table, ("embedding", "labels"))
        assert table is not None
        self._table = self._prepared(torch.from_numpy(table))
        self._labels = None if labels is None else self._prepared(torch.from_numpy(labels))
        self._transposed = model.config.hidden_size >= _TRANSPOSED
        self._inputs = [self._columns(layer.w) for layer in layers]
        self._hidden = [self._columns(layer.u) for layer in layers]
        self._biases = [(self._prepared(layer.b), self._prepared(layer.d)) for layer in layers]
        self._fused_cell: Callable[..., tuple[Tensor, Tensor, Tensor]] | None = None
        if self._table.is_cuda and self._cell == "lstm":
            # PyTorch's own: one kernel for biases, gates and both new values, if it is there.
            self._fused_cell = getattr(torch.ops.aten, "_thnn_fused_lstm_cell", None)
        self.places = model.config.frame
        """P, the symbols of a step."""
        heads = model.head.weight.view(self.places, -1, model.head.weight.shape[1])
        self._heads = [self._columns(head) for head in heads[:, :size]]
        self._head_biases = [*self._prepared(model.head.bias.view(self.places, -1)[:, :size])]
        self._frame: list[Tensor] = []
        """Of a frame W, a, and the rows of symbols (P - 1, V, M): see `frames`."""
        if (frame := model.frame) is not None:
            self._frame = [self._columns(frame.hidden.weight), self._prepared(frame.hidden.bias)]
            rows = frame.drawn.view(self.places - 1, -1, frame.drawn.shape[1])
            self._frame.append(self._prepared(rows))

    def _prepared(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._device, self._dtype).contiguous()

    def _columns(self, weight: Tensor) -> Tensor:
        """What rows are multiplied by."""
        return self._prepared(weight.T) if self._transposed else self._prepared(weight).T

    @torch.inference_mode()
    def split(self, state: State) -> Carried:
        """The state in the form that a step takes."""
        state = state.on(self._device)
        h, c = (self._prepared(values) for values in state[:2])
        layers = [*chain.from_iterable(zip(h.unbind(), c.unbind(), strict=True))]
        if self.places == 1:
            return layers
        known, z = state.frame[0].long(), self._begun(self._top(layers))
        for place in range(self.fed(state) - 1):
            self._add(z, place, known[:, place] - 1)
        return [*layers, z, F.pad(known, (0, self.places - 1 - known.shape[1]))]

    def fed(self, state: State) -> int:
        """How many inputs of the step under way were fed."""
        return fed_of(state.frame, self.places)

    @torch.inference_mode()
    def __call__(
        self, symbols: Tensor, carried: Carried, labels: Tensor, fed: int = 0
    ) -> tuple[Tensor, Carried]:
        """Feed symbols (S,): the logits (S, V) of what follows, in fp32, and the state after.

        `labels` (S,) are as in `Drawing`. `fed` says how many inputs of the step under way were
        fed, see `state.fed_of`.
        """
        layers = carried[: 2 * len(self._hidden)]
        if self.places == 1:
            layers = self._advanced(symbols[:, None], layers, labels)
            x, known = self._top(layers), []
        else:
            z, frame = carried[-2:]
            if fed:
                z, frame = z.clone(), frame.clone()
                self._add(z, fed - 1, symbols)
                frame[:, fed - 1] = symbols + 1
            else:
                read = torch.cat([frame, symbols[:, None] + 1], 1)
                layers = self._advanced(read, layers, labels)
                z = self._begun(self._top(layers))
            x, known = z[:, fed].relu(), [z, frame]
        logits = torch.addmm(self._head_biases[fed], x, self._heads[fed]).float()
        return logits, [*layers, *known]

    def _top(self, layers: Carried) -> Tensor:
        """What the head reads, (S, H)."""
        return torch.stack(layers[::2]).sum(0) if self._skips else layers[-2]

    def _begun(self, x: Tensor) -> Tensor:
        """z (S, P, M) of the top layer's output, without the rows of symbols that follow."""
        weight, bias, _ = self._frame
        return torch.addmm(bias, x, weight).view(len(x), self.places, -1)

    def _add(self, z: Tensor, place: int, symbols: Tensor) -> None:
        """Add the rows of the symbols (S,) in a place to what those after it are written from."""
        z[:, place + 1 :] += self._frame[2][place][symbols][:, None]

    def _advanced(self, read: Tensor, layers: Carried, labels: Tensor) -> Carried:
        """The layers after a step that reads symbols (S, P)."""
        if self.places == 1:
            x = torch.index_select(self._table, 0, read[:, 0])
        else:  # some rows for each of the P places, added up
            x = self._table[rows_of(read, len(self._table) // self.places)].sum(1)
        if self._labels is not None:
            x = x + self._labels[labels]
        after: Carried = []
        for index, recurrent in enumerate(self._hidden):
            h, c = layers[2 * index : 2 * index + 2]
            inputs, hidden = x @ self._inputs[index] if index else x, h @ recurrent
            b, d = self._biases[index]
            if self._fused_cell is not None:
                x, c, _ = self._fused_cell(inputs, hidden, c, b, d)
            else:
                x, c = cells.cell_step(self._cell, inputs + b, hidden + d, h, c)
            after += [x, c]
        return after

    def on_device(self, numbers: Integers) -> Tensor:
        """Symbols or labels where the step runs."""
        return torch.from_numpy(numbers).to(self._device)


class TorchEngine(PreparedStep):
    """Generates step by step, on any device: the reference."""

    block = 16

    def __init__(self, model: CharRNN, size: int, strength: float = 1.0) -> None:
        """`size` is the codec's V.

        With another `strength` than 1 states and labels are those of 2 S streams, of which the
        second half has no labels: see `sampler.guided`.
        """
        super().__init__(model, size)
        self._model, self._size, self._strength = model, size, strength

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        """See Engine."""
        symbols, carried = drawing.symbols, self.split(drawing.state)
        place, labels = self.fed(drawing.state), self.on_device(drawing.labels)
        copies = 1 if self._strength == 1 else 2
        for block in drawing.draws:
            drawn = []
            with shared_cores(self._model.device):
                for uniform in block:
                    fed = self.on_device(np.tile(symbols, copies))
                    logits, carried = self(fed, carried, labels, place)
                    place = (place + 1) % self.places
                    chosen = guided(logits.cpu().numpy(), self._strength)
                    symbols = draw(chosen, uniform, drawing.sampling)
                    drawn.append(symbols)
            yield np.stack(drawn)

    def score(self, symbols: Integers, state: State, labels: Integers) -> tuple[Floats, State]:
        """See Engine."""
        return score_by_network(self._model, self._size, symbols, state, labels)


@torch.inference_mode()
def score_by_network(
    network: CharRNN, size: int, symbols: Integers, state: State, labels: Integers
) -> tuple[Floats, State]:
    """What `Engine.score` does, in one call of a network; `size` is the codec's V."""
    fed, begin = torch.from_numpy(symbols).to(network.device), state.on(network.device)
    known = torch.from_numpy(labels).to(network.device).expand(len(fed), -1)[..., None]
    logits, after = network(fed, begin, labels=known)
    return logits[..., :size].float().cpu().numpy(), after.arrays()
