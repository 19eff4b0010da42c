"""The network as it runs: its tensors in some dtype and layout, and what they compute."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit.config import ModelConfig
from seqkit.foundation.errors import DeviceError
from seqkit.lstm import TENSOR_CORE, Layers
from seqkit.model.frames import FrameWeights, Steps, rows_of
from seqkit.model.state import State
from seqkit.symbols import IGNORED

_FEW = 1024  # rows up to which an embedding is a product with one-hot rows
_NEVER = -10_000.0  # the logit of a symbol without any probability, in every float format


class RunnableWeights(NamedTuple):
    """The tensors of a CharRNN in the dtype and layout in which they run, and what they compute.

    A packed tensor may have more rows or columns than its parameter; the parameter's come first.
    `tables` are its embeddings, by their names in CharRNN. `frame` is there if a step makes several
    symbols.
    """

    config: ModelConfig
    tables: dict[str, Tensor]
    layers: Layers
    head_weight: Tensor
    head_bias: Tensor
    frame: FrameWeights | None = None

    def tensors(self) -> list[Tensor]:
        """All that is learnt, in a fixed order: embeddings, layers from the bottom, heads."""
        layers, frame = self.layers.tensors(), self.frame or ()
        return [*self.tables.values(), *layers, *frame, self.head_weight, self.head_bias]

    def with_tensors(self, tensors: list[Tensor]) -> "RunnableWeights":
        """The same network with other tensors, given in the order of `tensors()`."""
        *rest, head_weight, head_bias = tensors
        count = len(self.tables)
        end = count + len(self.layers.tensors())
        return self._replace(
            tables=dict(zip(self.tables, rest[:count], strict=True)),
            layers=self.layers.with_tensors(rest[count:end]),
            frame=self.frame and FrameWeights(*rest[end:]),
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
        labels: Tensor | None = None,
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
            labels: (T, B, K), of the symbol after each input; by default it has none, which is 0.

        Returns:
            Logits (T, B, V) of the symbol after each input, and the state after the last step. A
            packed head rounds V up; what is beyond V has no probability.
        """
        steps = None  # of a symbol each
        read, separators = symbols[..., None], resets
        if self.frame is not None:
            steps = Steps.of(symbols, state.frame, self.config.frame, resets)
            read, separators = steps.before, steps.separators
            labels = None if labels is None else steps.of_made(labels)
        bottom = self._inputs(read, separators, labels, input_mask)
        outputs, h, c = self.layers(bottom, state.h, state.c, masks, separators)
        if steps is not None and steps.fed:  # the first step was made before
            outputs = [torch.cat(pair) for pair in zip(state.h[:, None], outputs, strict=True)]
        # The head reads the top layer's outputs, or the sum of all.
        x = sum(outputs[1:], outputs[0]) if self.config.skip_connections else outputs[-1]
        if self.frame is None or steps is None:
            logits = F.linear(x, self.head_weight, self.head_bias)
        else:
            logits = self.frame.logits(x, steps, self.head_weight, self.head_bias)
        return logits, State(h, c, state.frame if steps is None else steps.after)

    def _inputs(
        self, symbols: Tensor, resets: Tensor | None, labels: Tensor | None, mask: Tensor | None
    ) -> Tensor:
        """What the bottom layer reads of symbols (N, B, P): (N, B, X).

        One-hot rows or embeddings of them, then the labels of the document of those to come; the
        symbols themselves, (N, B), where the layers read them.
        """
        numbers = symbols
        if self.frame is not None:
            numbers = rows_of(symbols, self.config.vocabulary_size + 1)
        if "embedding" in self.tables:
            read = rows_at(numbers, self.tables["embedding"])
            read = read if mask is None else read * mask
        elif self.layers.reads_symbols and self.frame is None:
            return symbols[..., 0]
        else:
            width = self.layers.weights[0].w.shape[1] if resets is None else self.config.input_rows
            read = hot(numbers, width, self.head_weight.dtype)
        if "labels" not in self.tables:
            return read
        sizes = self.config.labels
        of_each = symbols.new_zeros(*symbols.shape[:2], len(sizes)) if labels is None else labels
        tables = torch.split(self.tables["labels"], [size + 1 for size in sizes])
        *others, last = map(rows_at, torch.split(of_each, 1, -1), tables)
        return torch.cat([read, sum(others, last)], -1)


def hot(numbers: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """Of numbers (N, B, P) rows (N, B, size) with a 1 at each of the P, which differ."""
    rows = torch.zeros((*numbers.shape[:2], size), dtype=dtype, device=numbers.device)
    return rows.scatter_(-1, numbers, 1)


def rows_at(numbers: Tensor, table: Tensor) -> Tensor:
    """The rows of a table (R, X) at numbers (N, B, P), added up: (N, B, X)."""
    places = numbers.shape[-1]
    if len(table) > _FEW * places or (places > 1 and not table.is_cuda):
        rows = F.embedding(numbers, table)
        return rows[..., 0, :] if places == 1 else rows.sum(-2)
    # For few rows a product has a faster gradient than a look-up, and needs no atomics.
    return hot(numbers, len(table), table.dtype) @ table


def packed_head(weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """A head for whole tiles of logits; those that are added have no probability."""
    if not (missing := -len(bias) % TENSOR_CORE):
        return weight, bias
    return F.pad(weight, (0, 0, 0, missing)), F.pad(bias, (0, missing), value=_NEVER)


def require_finished(failed: Tensor | None) -> None:
    """Wait for the GPU and see that no block of a kernel has waited in vain since the last call.

    `failed` is `Layers.failed`, which becomes zero again.

    Raises:
        DeviceError: one did.
    """
    if failed is not None and failed.item():
        failed.zero_()
        raise DeviceError(
            "the blocks of the persistent LSTM kernel waited for each other in vain: a training "
            "goes on from its last checkpoint by resume=auto model.backend=cudnn"
        )


def cross_entropy(logits: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """The nats of targets (T, B) under logits (T, B, V), in fp32: mean, sum or (none) each, (T, B).

    Targets that are `IGNORED` do not count.
    """
    shares = torch.log_softmax(logits.flatten(0, -2), -1, dtype=torch.float32)
    nats = F.nll_loss(shares, targets.flatten(), reduction="none")
    if reduction == "none":
        return nats.view(targets.shape)
    return nats.sum() if reduction == "sum" else nats.sum() / (targets != IGNORED).sum()
