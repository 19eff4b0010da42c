"""The arithmetic that both sides share: steps of all lanes, and their probabilities as integers.

What decodes a file has to meet the very numbers that its encoder met, to the last bit. So both make
the same steps with the same number of lanes, precision and threads, and only integers leave them.
"""

import torch
from torch import Tensor

from seqkit.compression.rans import TOTAL
from seqkit.generation.engines.pytorch import PreparedStep
from seqkit.model.char_rnn import CharRNN


def bounds_of(logits: Tensor) -> Tensor:
    """Where each symbol's span begins, and the last one ends: (B, V + 1) from 0 to TOTAL.

    Every symbol gets at least 1 of TOTAL, whatever the logits (B, V) are. A sum of integers is the
    same in any order, so that only the softmax depends on how a device rounds.
    """
    size = logits.shape[-1]
    shares = logits.double().softmax(-1).nan_to_num_(0.0)
    counts = shares.mul_(TOTAL - size).long().add_(1)
    bounds = torch.zeros((len(logits), size + 1), dtype=torch.int64, device=logits.device)
    torch.cumsum(counts, -1, out=bounds[:, 1:])
    bounds[:, -1] = TOTAL
    return bounds


class Steps:
    """A model that reads B lanes side by side.

    Its tensors keep their addresses, as a recording of a CUDA graph needs it.
    """

    @torch.inference_mode()
    def __init__(self, model: CharRNN, size: int, lanes: int, dtype: torch.dtype) -> None:
        """`size` is the codec's V; the matrix products are made in `dtype`."""
        self._model = model
        self._step = PreparedStep(model, size, dtype)
        self._layers = self._step.split(model.zero_state(lanes))
        device = model.head.weight.device
        self._symbols = torch.zeros(lanes, dtype=torch.int64, device=device)
        self.bounds = torch.zeros((lanes, size + 1), dtype=torch.int64, device=device)
        """Of what follows the last step: see `bounds_of`."""

    @torch.inference_mode()
    def begin(self, start: int) -> None:
        """Forget everything; the symbol `start` is fed first."""
        self._symbols.fill_(start)
        for values in (value for layer in self._layers for value in layer):
            values.zero_()

    @torch.inference_mode()
    def feed(self, symbols: Tensor) -> None:
        """Have the next step feed these (B,)."""
        self._symbols.copy_(symbols)

    @torch.inference_mode()
    def advance(self) -> None:
        """Make a step."""
        logits, layers = self._step(self._symbols, self._layers)
        self.bounds.copy_(bounds_of(logits))
        for own, new in zip(self._layers, layers, strict=True):
            for target, value in zip(own, new, strict=True):
                target.copy_(value)

    def renew(self) -> None:
        """Take the model's weights as they are now."""
        self._step.renew(self._model)
