"""Dynamic evaluation: a network that goes on learning from what it has just predicted.

A window of a few symbols is predicted and scored; then one gradient step is made on it, and the
next window follows. So every symbol is predicted by weights that have not seen it yet. (Krause et
al., 2018, "Dynamic evaluation of neural sequence models", and 2019, "Dynamic evaluation of
Transformer language models".)

The step divides every weight's gradient by its root mean square, as Krause et al. do. They take it
from gradients of the training text; here it is the running one of the windows so far (Adam's,
without momentum): that needs nothing but the text that is read, and scores as well.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from seqkit.config import DynamicConfig
from seqkit.evaluation import protocols, scoring
from seqkit.evaluation.scoring import Score, Scored, total
from seqkit.foundation.threads import shared_cores
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import cross_entropy
from seqkit.model.state import State
from seqkit.symbols import IGNORED, Floats, Integers

_MEMORY = 0.999  # decay of the mean squared gradient, a window at a time


class Learner:
    """A copy of a network that learns from every window that it has read.

    What it computes depends on nothing but the network, the settings and the windows so far: the
    same calls give the same weights, on a CPU to the bit for the same number of threads.

    Attributes:
        model: the copy, its weights as they are now.
    """

    def __init__(self, model: CharRNN, settings: DynamicConfig) -> None:
        """`model` is on the device where it is to run; it is left as it is."""
        self.model = model.copied().float().requires_grad_()
        self._weights: list[Tensor] = list(self.model.parameters())
        self._trained = [parameter.detach().clone() for parameter in self._weights]
        self._settings = settings
        cuda = self.model.head.weight.is_cuda
        self._optimizer = torch.optim.Adam(
            self._weights, settings.rate, betas=(0.0, _MEMORY), fused=True, capturable=cuda
        )

    @torch.enable_grad()
    def read(
        self,
        inputs: Tensor,
        targets: Tensor,
        state: State,
        labels: Tensor | None = None,
    ) -> tuple[Tensor, State]:
        """Predict a window, and learn from it.

        Args:
            inputs: (T, B), the symbols that are fed.
            targets: (T, B), the symbol that follows each; `IGNORED` where none counts.
            state: before the window, (L, B, H).
            labels: (T, B, K), of the targets.

        Returns:
            The nats (T, B) of the targets by the weights before the update, 0 where they do not
            count, and the state after the window, by the same weights.
        """
        network = self.model.runnable_weights(dtype=torch.float32)
        logits, after = network(inputs, state, labels=labels)
        if self.model.config.ends:  # which are no targets
            logits = logits[..., : self.model.config.symbols]
        nats = cross_entropy(logits, targets, "none")
        loss = nats.sum() / (targets != IGNORED).sum().clamp(min=1)
        gradients = torch.autograd.grad(loss, self._weights)
        for parameter, gradient in zip(self._weights, gradients, strict=True):
            parameter.grad = gradient
        self._optimizer.step()
        with torch.no_grad():
            for parameter, trained in zip(self._weights, self._trained, strict=True):
                parameter.lerp_(trained, self._settings.decay)
        return nats.detach(), after.detached()


def evaluate(scored: Scored, settings: DynamicConfig) -> Score:
    """The score of a model that learns what it reads: all symbols of the part count."""
    return total(scored.part, nats(scored, settings))


def nats(scored: Scored, settings: DynamicConfig) -> Iterator[tuple[Integers, Floats]]:
    """Places (n,) in the part and the nats (n,) of their symbols, window by window, in order.

    Documents come in their order. Each begins from the zero state, but with what was learnt from
    those before it. The model keeps its weights.
    """
    model, part = scored.model, scored.part
    learner = Learner(model, settings)
    device = model.head.weight.device
    for first, _, end in protocols.streaming(part).tolist():
        state = model.zero_state(1)
        inputs = np.concatenate([[scored.start], part.symbols[first : end - 1]]).astype(np.int64)
        for begin in range(first, end, settings.window):
            places = np.arange(begin, min(begin + settings.window, end))
            fed = _column(inputs[places - first], device)
            targets = _column(part.symbols[places].astype(np.int64), device)
            labels = scoring.labels_at(part, places[:, None], device)
            with shared_cores(device):
                losses, state = learner.read(fed, targets, state, labels)
            yield places, losses[:, 0].cpu().numpy()
            scored.watch(int(places[-1]) + 1)  # they come in order


def _column(symbols: Integers, device: torch.device) -> Tensor:
    """Symbols (T,) as one lane (T, 1)."""
    return torch.from_numpy(symbols)[:, None].to(device)
