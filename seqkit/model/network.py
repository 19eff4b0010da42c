"""The network as it runs: its tensors in some dtype and layout, and what they compute."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit.conditions import NO_CONDITIONS, Conditions
from seqkit.config import ModelConfig
from seqkit.kernels.graph import SideStream
from seqkit.model import cells, fused_calls
from seqkit.model.cells import LayerWeights
from seqkit.model.linear_predictor import LinearPredictor
from seqkit.model.persistent_lstm.layer import persistent_layer
from seqkit.symbols import IGNORED

_NEVER = -10_000.0  # the logit of a symbol without any probability, in every float format
_SMALLEST = 1e-30  # a gate that is shut further than that lets no float through
_FEW = 1024  # symbols up to which an embedding is a product with one-hot rows


class State(NamedTuple):
    """The recurrent state: hidden values h and cell values c, each (L, B, H).

    Only the LSTM has cell values; elsewhere c is zeros. `past` (1, B, K) has the last K samples,
    the latest last, of a network that predicts linearly: see `LinearPredictor`.
    """

    h: Tensor
    c: Tensor
    past: Tensor

    def detached(self) -> "State":
        """The same values, through which no gradient flows back."""
        return State(*(values.detach() for values in self))

    def begun_anew(self, fresh: Tensor) -> "State":
        """The same values, and zeros in the lanes in which `fresh` (B,) is true."""
        return State(*(torch.where(fresh[:, None], 0, values) for values in self))


class Trace(NamedTuple):
    """A call of T steps, with what happened inside.

    inputs (T, B), conditions, before (L, B, H): what was fed.
    outputs: of each layer h (T, B, H), from the bottom.
    logits (T, B, V), after (L, B, H): what a call returns.
    """

    inputs: Tensor
    conditions: Conditions
    before: State
    outputs: list[Tensor]
    logits: Tensor
    after: State


class RunnableWeights(NamedTuple):
    """The tensors of a CharRNN in the dtype and layout in which they run, and what they compute.

    `kernel` is an `Execution`'s; the weights are packed for it. A packed tensor may have more rows
    or columns than its parameter; the parameter's come first. `side_stream` is given where the
    gradients of the persistent kernel's matrices are made beside the rest, and has to be joined
    before they are used. `failed` is that kernel's word for having given up: see
    `persistent_lstm.launch.check`. `tables` are its embeddings, by their names in CharRNN.
    """

    config: ModelConfig
    kernel: str
    tables: dict[str, Tensor]
    predictor: LinearPredictor | None
    layers: tuple[LayerWeights, ...]
    head_weight: Tensor
    head_bias: Tensor
    failed: Tensor | None = None
    side_stream: SideStream | None = None

    def tensors(self) -> list[Tensor]:
        """All that is learnt, in a fixed order: embeddings, layers from the bottom, head."""
        layers = [part for layer in self.layers for part in layer]
        return [*self.tables.values(), *layers, self.head_weight, self.head_bias]

    def packed(self, separators: bool) -> "RunnableWeights":
        """The same network, its weights laid out as its kernel wants them; differentiable.

        `separators`: whether resets will be given.
        """
        layers, cell, device = list(self.layers), self.config.cell, self.head_weight.device
        failed = None
        if self.kernel == "stacked":
            layers = fused_calls.pack(layers, cell, False)
        elif self.kernel == "layerwise":
            marked = separators and cell == "lstm"
            layers = [fused_calls.pack([layer], cell, marked)[0] for layer in layers]
        elif self.kernel == "persistent":
            layers[0] = layers[0]._replace(w=_padded(layers[0].w, 1))
            failed = torch.zeros(1, dtype=torch.int32, device=device)
        weight, bias = self.head_weight, self.head_bias
        if device.type == "cuda":
            weight, bias = _padded(weight, 0), _padded(bias, 0, _NEVER)
        return self._replace(
            layers=tuple(layers), head_weight=weight, head_bias=bias, failed=failed
        )

    def with_tensors(self, tensors: list[Tensor]) -> "RunnableWeights":
        """The same network with other tensors, given in the order of `tensors()`."""
        *rest, head_weight, head_bias = tensors
        count = len(self.tables)
        layers = [LayerWeights(*rest[i : i + 4]) for i in range(count, len(rest), 4)]
        return self._replace(
            tables=dict(zip(self.tables, rest[:count], strict=True)),
            layers=tuple(layers),
            head_weight=head_weight,
            head_bias=head_bias,
        )

    def __call__(
        self,
        symbols: Tensor,
        state: State,
        masks: Tensor | None = None,
        resets: Tensor | None = None,
        input_mask: Tensor | None = None,
        conditions: Conditions = NO_CONDITIONS,
    ) -> tuple[Tensor, State]:
        """Run T steps.

        Args:
            symbols: (T, B), integers below V.
            state: h and c, (L, B, H).
            masks: (L, B, H), factors of each layer's output, the same at all T steps: dropout as in
                Gal and Ghahramani (2016).
            resets: (T, B), true at separators: their symbols and logits mean nothing, and the state
                after them is exactly zero.
            input_mask: (B, X), factors of the symbols' embeddings, the same at all T steps.
            conditions: of the symbol after each input.

        Returns:
            Logits (T, B, V) of the symbol after each input, and the state after the last step. A
            packed head rounds V up; what is beyond V has no probability.
        """
        trace = self.traced(symbols, state, masks, resets, input_mask, conditions)
        return trace.logits, trace.after

    def traced(
        self,
        symbols: Tensor,
        state: State,
        masks: Tensor | None = None,
        resets: Tensor | None = None,
        input_mask: Tensor | None = None,
        conditions: Conditions = NO_CONDITIONS,
    ) -> Trace:
        """Run T steps as a call does, and keep every layer's outputs; of a stack only the top's."""
        dtype = self.head_weight.dtype
        x, past = self._inputs(symbols, state.past, resets, conditions, input_mask)
        h, c = state.h.to(dtype), state.c.to(dtype)
        if self.kernel == "stacked":
            if masks is not None or resets is not None or self.config.skip_connections:
                raise ValueError("one call of the stack takes neither masks nor resets nor skips")
            x, h, c = fused_calls.fused_stack(self.config.cell, self.layers, x, h, c)
            outputs = [x]
        else:
            outputs, h, c = self._layer_by_layer(x, h, c, masks, resets)
        # The head reads the top layer's outputs, or the sum of all.
        x = sum(outputs[1:], outputs[0]) if self.config.skip_connections else outputs[-1]
        logits = F.linear(x, self.head_weight, self.head_bias)
        after = State(h.to(state.h.dtype), c.to(state.c.dtype), past)
        return Trace(symbols, conditions, state, outputs, logits, after)

    def _inputs(
        self,
        symbols: Tensor,
        past: Tensor,
        resets: Tensor | None,
        conditions: Conditions,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """What the bottom layer reads, (T, B, X), and the past after it.

        That is the symbols, then the code of those to come, then the labels of their document, then
        what is predicted.
        """
        read = [self._symbols(symbols, resets)]
        if mask is not None:
            read[0] = read[0] * mask
        codes, labels = conditions
        if "conditions" in self.tables:
            codes = torch.zeros_like(symbols) if codes is None else codes
            read.append(_rows(codes, self.tables["conditions"]))
        if "labels" in self.tables:
            sizes = self.config.labels
            labels = symbols.new_zeros(*symbols.shape, len(sizes)) if labels is None else labels
            tables = torch.split(self.tables["labels"], [size + 1 for size in sizes])
            *others, last = map(_rows, labels.unbind(-1), tables)
            read.append(sum(others, last))
        if self.predictor is not None:
            following, past = self.predictor(symbols, past, codes, resets)
            read.append(_rows(following, self.tables["predicted"]))
        return (torch.cat(read, -1) if len(read) > 1 else read[0]), past

    def _symbols(self, symbols: Tensor, resets: Tensor | None) -> Tensor:
        """One-hot rows or embeddings of the symbols, (T, B, X); or the symbols, where they do."""
        if "embedding" in self.tables:
            return _rows(symbols, self.tables["embedding"])
        if self.kernel == "persistent":
            return symbols
        packed = self.layers[0].w.shape[1]
        size = packed if resets is None else self.config.vocabulary_size
        return _one_hot(symbols, size, self.head_weight.dtype)

    def activations(self, trace: Trace, layer: int, cells: slice) -> Tensor:
        """What some cells of a layer hold after each input, (T, B, n), n of its H.

        Of an LSTM that is tanh(c), of the other cells, which have no c, it is h. A fused call gives
        every h, but only the last c. So tanh(c) is found from h_t = sigmoid(o_t) * tanh(c_t), where
        the output gate o_t takes a product with a quarter of the layer's weights, or with one row
        of them for a single cell.
        """
        y = trace.outputs[layer]
        if self.config.cell != "lstm":
            return y[..., cells]
        weights = self.layers[layer]
        if layer:
            x = trace.outputs[layer - 1]
        else:
            x, _ = self._inputs(trace.inputs, trace.before.past, None, trace.conditions)
        x = F.pad(x, (0, weights.w.shape[1] - x.shape[-1]))
        last = torch.cat([trace.before.h[layer][None].to(y.dtype), y[:-1]])
        first, end, _ = cells.indices(y.shape[-1])
        rows = slice(3 * y.shape[-1] + first, 3 * y.shape[-1] + end)  # of i, f, g, o
        w, u, b, d = (part[rows] for part in weights)
        gate = (x @ w.T + b + last @ u.T + d).sigmoid()
        return (y[..., cells] / gate.clamp(min=_SMALLEST)).clamp(-1, 1)

    def _layer_by_layer(
        self, x: Tensor, h: Tensor, c: Tensor, masks: Tensor | None, resets: Tensor | None
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        """The outputs (T, B, H) of each layer, and h and c (L, B, H) after the last step."""
        cell = self.config.cell
        seen, last_h, last_c = list[Tensor](), list[Tensor](), list[Tensor]()
        for index, weights in enumerate(self.layers):
            inputs = (weights, x, h[index], c[index])
            match self.kernel:
                case "unrolled":
                    out = cells.unrolled(cell, *inputs, resets=resets, cell_clip=self.config.clip)
                case "persistent":
                    assert self.failed is not None
                    out = persistent_layer(
                        *inputs, failed=self.failed, resets=resets, side_stream=self.side_stream
                    )
                case _:
                    out = fused_calls.fused_layer(cell, *inputs, resets=resets)
            x = out.y if masks is None else out.y * masks[index]
            seen.append(x)
            last_h.append(out.h)
            last_c.append(out.c)
        return seen, torch.stack(last_h), torch.stack(last_c)


def _one_hot(numbers: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    rows = torch.zeros((*numbers.shape, size), dtype=dtype, device=numbers.device)
    return rows.scatter_(-1, numbers[..., None], 1)


def _rows(numbers: Tensor, table: Tensor) -> Tensor:
    """The rows (T, B, X) of a table (N, X) at numbers (T, B)."""
    if len(table) > _FEW:
        return F.embedding(numbers, table)
    # For few rows a product has a faster gradient than a look-up, and needs no atomics.
    return _one_hot(numbers, len(table), table.dtype) @ table


def _padded(values: Tensor, side: int, filling: float = 0.0) -> Tensor:
    """A matrix or vector whose side of this number is whole tiles long; itself where it is."""
    missing = -values.shape[side] % fused_calls.TENSOR_CORE
    sides = [0, 0] * (values.dim() - 1 - side) + [0, missing]
    return F.pad(values, sides, value=filling) if missing else values


def cross_entropy(logits: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """The nats of targets (T, B) under logits (T, B, V), in fp32: mean, sum or (none) each, (T, B).

    Targets that are `IGNORED` do not count.
    """
    shares = torch.log_softmax(logits.flatten(0, -2), -1, dtype=torch.float32)
    nats = F.nll_loss(shares, targets.flatten(), reduction="none")
    if reduction == "none":
        return nats.view(targets.shape)
    return nats.sum() if reduction == "sum" else nats.sum() / (targets != IGNORED).sum()
