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

from seqkit.conditions import NO_CONDITIONS, Conditions
from seqkit.foundation.threads import shared_cores
from seqkit.generation.engine import Drawing
from seqkit.generation.engines.step_tables import StepTables, condition_rows
from seqkit.generation.sampling import draw, guided
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN
from seqkit.model.frames import rows_of
from seqkit.model.state import State, fed_of
from seqkit.symbols import Floats, Integers

_TRANSPOSED = 768  # from so many hidden units on, products are faster with transposed matrices

Carried = list[Tensor]
"""A state as steps carry it: of each layer h and c, (S, H); then the past (S, P K), if it is read.

If a step makes P symbols, z (S, P, M) follows, with the rows of the symbols that were fed, and the
frame (S, P - 1): see `frames` and `State.frame`.
"""


class PreparedStep:
    """A callable that makes steps on the model's device, in any dtype."""

    @torch.inference_mode()
    def __init__(self, model: CharRNN, size: int, dtype: torch.dtype = torch.float32) -> None:
        """`size` is the codec's V; logits that the model has beyond it are left out."""
        self.config = model.config
        self._cell = model.config.cell
        self._skips = model.config.skip_connections
        self._dtype = dtype
        layers = [cells.weights_of(layer) for layer in model.layers]
        tables = StepTables.of(model)
        self._predictor = tables.predictor  # in fp32
        self._levels = torch.zeros(0)
        if tables.predictor is not None:
            self._levels = F.pad(tables.predictor.levels, (int(model.config.frame > 1), 0))
        self._table = self._prepared(tables.symbols)
        self._conditions, self._predicted = (
            None if table is None else self._prepared(table)
            for table in (tables.conditions, tables.predicted)
        )
        self._transposed = model.config.hidden_size >= _TRANSPOSED
        self._inputs = [self._matrix(layer.w) for layer in layers]
        self._hidden = [self._matrix(layer.u) for layer in layers]
        self._biases = [(self._prepared(layer.b), self._prepared(layer.d)) for layer in layers]
        self._fused_cell: Callable[..., tuple[Tensor, Tensor, Tensor]] | None = None
        if self._table.is_cuda and self._cell == "lstm":
            # PyTorch's own: one kernel for biases, gates and both new values, if it is there.
            self._fused_cell = getattr(torch.ops.aten, "_thnn_fused_lstm_cell", None)
        self.places = model.config.frame
        """P, the symbols of a step."""
        heads = model.head.weight.view(self.places, -1, model.head.weight.shape[1])
        self._heads = [self._matrix(head) for head in heads[:, :size]]
        self._head_biases = [*self._prepared(model.head.bias.view(self.places, -1)[:, :size])]
        self._frame: list[Tensor] = []
        """Of a frame W, a, and the rows of symbols, and of predicted ones: see `frames`."""
        if (frame := model.frame) is not None:
            self._frame = [self._matrix(frame.hidden.weight), self._prepared(frame.hidden.bias)]
            self._frame += [self._prepared(table) for table in frame.tables()]

    def _prepared(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._dtype).contiguous()

    def _matrix(self, weight: Tensor) -> Tensor:
        return self._prepared(weight.T if self._transposed else weight)

    def _columns(self, matrix: Tensor) -> Tensor:
        return matrix if self._transposed else matrix.T

    @torch.inference_mode()
    def split(self, state: State, row: Tensor | None = None) -> Carried:
        """The state in the form that a step takes; `row` is that of what follows."""
        state = state.on(self._table.device)
        h, c = (self._prepared(values) for values in state[:2])
        layers = [*chain.from_iterable(zip(h.unbind(), c.unbind(), strict=True))]
        past = [] if self._predictor is None else [*state.past.float()]
        if self.places == 1:
            return [*layers, *past]
        known, predicted = state.frame[0].long(), None
        if self._predictor is not None:
            nothing = known.new_zeros(0, len(known), self.places)
            predicted, _ = self._predict(nothing, past, row, begun=True)
        z = self._begun(self._top(layers), predicted)
        for place in range(self.fed(state) - 1):
            self._add(z, place, known[:, place] - 1)
        return [*layers, *past, z, F.pad(known, (0, self.places - 1 - known.shape[1]))]

    def fed(self, state: State) -> int:
        """How many inputs of the step under way were fed."""
        return fed_of(state.frame, self.places)

    def _joined(self, carried: Carried, fed: int) -> State:
        """What `split` made this of, after so many inputs of a step; 0: all."""
        count = 2 * len(self._hidden)
        h, c = (torch.stack(carried[first:count:2]).float() for first in (0, 1))
        past = h.new_zeros(h.shape[1], 0) if self._predictor is None else carried[count]
        frame = h.new_zeros(h.shape[1], 0)
        if self.places > 1:
            frame = carried[-1][:, : (fed - 1) % self.places].float()
        return State(h, c, past[None], frame[None])

    @torch.inference_mode()
    def __call__(
        self, symbols: Tensor, carried: Carried, row: Tensor | None = None, fed: int = 0
    ) -> tuple[Tensor, Carried]:
        """Feed symbols (S,): the logits (S, V) of what follows, in fp32, and the state after.

        `row` (S,) is one of `condition_rows`, of what follows; None: nothing is known. `fed` says
        how many inputs of the step under way were fed, see `state.fed_of`.
        """
        count = 2 * len(self._hidden)
        layers, past = carried[:count], carried[count : count + (self._predictor is not None)]
        if self.places == 1:
            layers, past, _ = self._advanced(symbols[:, None], layers, past, row)
            x, known = self._top(layers), []
        else:
            z, frame = carried[-2:]
            if fed:
                z, frame = z.clone(), frame.clone()
                self._add(z, fed - 1, symbols)
                frame[:, fed - 1] = symbols + 1
            else:
                read = torch.cat([frame, symbols[:, None] + 1], 1)
                layers, past, predicted = self._advanced(read, layers, past, row)
                z = self._begun(self._top(layers), predicted)
            x, known = z[:, fed].relu(), [z, frame]
        columns = self._columns(self._heads[fed])
        logits = torch.addmm(self._head_biases[fed], x, columns).float()
        return logits, [*layers, *past, *known]

    def _top(self, layers: Carried) -> Tensor:
        """What the head reads, (S, H)."""
        return torch.stack(layers[::2]).sum(0) if self._skips else layers[-2]

    def _begun(self, x: Tensor, predicted: Tensor | None) -> Tensor:
        """z (S, P, M) of the top layer's output, without the rows of symbols that follow."""
        weight, bias, _, *others = self._frame
        z = torch.addmm(bias, x, self._columns(weight)).view(len(x), self.places, -1)
        if predicted is None:
            return z
        [rows] = others
        return z + rows.flatten(0, 1)[rows_of(predicted, rows.shape[1])]

    def _add(self, z: Tensor, place: int, symbols: Tensor) -> None:
        """Add the rows of the symbols (S,) in a place to what those after it are written from."""
        z[:, place + 1 :] += self._frame[2][place][symbols][:, None]

    def _predict(
        self, read: Tensor, past: Carried, row: Tensor | None, *, begun: bool = False
    ) -> tuple[Tensor, Carried]:
        """What is predicted (S, P) after symbols (1, S, P), or none, and the past after them."""
        assert self._predictor is not None
        codes = None if row is None else row[None]
        predicted, now = self._predictor(self._levels[read], past[0][None], codes, begun=begun)
        return predicted[0], [*now]

    def _advanced(
        self, read: Tensor, layers: Carried, past: Carried, row: Tensor | None
    ) -> tuple[Carried, Carried, Tensor | None]:
        """The layers and the past after a step that reads symbols (S, P); what is predicted."""
        x = self._looked_up(self._table, read)
        if self._conditions is not None:
            x = x + (self._conditions[0] if row is None else self._conditions[row])
        predicted = None
        if self._predicted is not None:
            predicted, past = self._predict(read[None], past, row)
            x = x + self._looked_up(self._predicted, predicted)
        after: Carried = []
        for index, recurrent in enumerate(self._hidden):
            h, c = layers[2 * index : 2 * index + 2]
            inputs = x @ self._columns(self._inputs[index]) if index else x
            hidden = h @ self._columns(recurrent)
            after += self._advance(index, inputs, hidden, h, c)
            x = after[-2]
        return after, past, predicted

    def _looked_up(self, table: Tensor, symbols: Tensor) -> Tensor:
        """The rows of symbols (S, P), added up, in a table with some for each of the P places."""
        if self.places == 1:
            return torch.index_select(table, 0, symbols[:, 0])
        return table[rows_of(symbols, len(table) // self.places)].sum(1)

    def score(
        self, symbols: Integers, state: State, conditions: Conditions = NO_CONDITIONS
    ) -> tuple[Floats, State]:
        """See Engine: feed symbols (N, S) step by step."""
        known, fed, rows = self.rows_of(conditions, len(symbols)), self.fed(state), []
        carried = self.split(state, known[0])
        for each, row in zip(self.on_device(symbols), known, strict=True):
            logits, carried = self(each, carried, row, fed)
            fed = (fed + 1) % self.places
            rows.append(logits)
        return torch.stack(rows).cpu().numpy(), self._joined(carried, fed).arrays()

    def rows_of(self, conditions: Conditions, count: int) -> list[Tensor | None]:
        """What each of so many inputs takes of conditions, (S,), where the step runs."""
        rows = condition_rows(self.config, conditions)
        if rows is None:
            return [None] * count
        return [*torch.as_tensor(rows, device=self._table.device)]

    def on_device(self, symbols: Integers) -> Tensor:
        """Symbols where the step runs."""
        return torch.from_numpy(symbols).to(self._table.device)

    def _advance(
        self, index: int, inputs: Tensor, hidden: Tensor, h: Tensor, c: Tensor
    ) -> tuple[Tensor, Tensor]:
        b, d = self._biases[index]
        if self._fused_cell is not None:
            h, c, _ = self._fused_cell(inputs, hidden, c, b, d)
            return h, c
        return cells.cell_step(self._cell, inputs + b, hidden + d, h, c)


class TorchEngine:
    """Generates step by step, on any device: the reference."""

    block = 16

    def __init__(self, model: CharRNN, size: int, strength: float = 1.0) -> None:
        """`size` is the codec's V.

        With another `strength` than 1 states and conditions are those of 2 S streams, of which the
        second half has no labels: see `sampling.guided`.
        """
        self._step = PreparedStep(model, size)
        self._model, self._size, self._device = model, size, model.device
        self._strength = strength

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        """See Engine."""
        symbols, carried = drawing.symbols, list[Tensor]()
        place = self._step.fed(drawing.state)
        copies = 1 if self._strength == 1 else 2
        for block, known in drawing.blocks():
            drawn = []
            rows = self._step.rows_of(known, len(block))
            carried = carried or self._step.split(drawing.state, rows[0])
            with shared_cores(self._device):
                for uniform, row in zip(block, rows, strict=True):
                    fed = self._step.on_device(np.tile(symbols, copies))
                    logits, carried = self._step(fed, carried, row, place)
                    place = (place + 1) % self._step.places
                    chosen = guided(logits.cpu().numpy(), self._strength)
                    symbols = draw(chosen, uniform, drawing.sampling)
                    drawn.append(symbols)
            yield np.stack(drawn)

    def score(
        self, symbols: Integers, state: State, conditions: Conditions = NO_CONDITIONS
    ) -> tuple[Floats, State]:
        """See Engine."""
        if self._device.type == "cpu":
            return self._step.score(symbols, state, conditions)
        return score_by_network(self._model, self._size, symbols, state, conditions)


@torch.inference_mode()
def score_by_network(
    network: CharRNN, size: int, symbols: Integers, state: State, conditions: Conditions
) -> tuple[Floats, State]:
    """What `Engine.score` does, in one call of a network on a GPU; `size` is the codec's V."""
    fed, begin = torch.from_numpy(symbols).to(network.device), state.on(network.device)
    logits, after = network(fed, begin, conditions=conditions.to(network.device))
    return logits[..., :size].float().cpu().numpy(), after.arrays()
