"""Dynamic evaluation: a network that goes on learning from what it has just predicted.

A window of a few symbols is predicted and scored; then one gradient step is made on it, and the
next window follows. So every symbol is predicted by weights that have not seen it yet. (Krause et
al., 2018, "Dynamic evaluation of neural sequence models", and 2019, "Dynamic evaluation of
Transformer language models".)

The step divides every weight's gradient by its root mean square, as Krause et al. do. They take it
from gradients of the training text; here it is the running one of the windows so far (Adam's,
without momentum): that needs nothing but the text that is read, and scores as well.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqkit.evaluation import scoring
from seqkit.evaluation.scoring import Score, Scored
from seqkit.foundation.machine import shared_cores
from seqkit.model.network import cross_entropy

_MEMORY = 0.999  # decay of the mean squared gradient, a window at a time


class Learning(NamedTuple):
    """How far, roughly, an update moves every weight, and how far back; symbols between updates."""

    rate: float = 7e-4
    decay: float = 1e-3
    window: int = 32


_DEFAULT = Learning()


def evaluate(scored: Scored, learning: Learning = _DEFAULT) -> Score:
    """The score of a model that learns what it reads: all symbols of the part count.

    Documents come in their order. Each begins from the zero state, but with what was learnt from
    those before it. A copy of the model learns: the model keeps its weights. The same calls give
    the same nats, on a CPU to the bit for the same number of threads.
    """
    part, model, nats = scored.part, scored.model.copied().float().requires_grad_(), 0.0
    weights: list[Tensor] = list(model.parameters())
    trained = [parameter.detach().clone() for parameter in weights]
    device = model.head.weight.device
    optimizer = torch.optim.Adam(
        weights, learning.rate, betas=(0.0, _MEMORY), fused=True, capturable=device.type == "cuda"
    )
    for first, _, end in scoring.streaming(part).tolist():
        state = model.zero_state(1)
        inputs = np.concatenate([[scored.start], part.symbols[first : end - 1]]).astype(np.int64)
        for begin in range(first, end, learning.window):
            places = np.arange(begin, min(begin + learning.window, end))
            fed = torch.from_numpy(inputs[places - first])[:, None].to(device)
            targets = torch.from_numpy(part.symbols[places].astype(np.int64))[:, None].to(device)
            labels = scoring.labels_at(part, places[:, None], device)
            with shared_cores(device):
                with torch.enable_grad():
                    network = model.runnable_weights(dtype=torch.float32)
                    logits, state = network(fed, state, labels=labels)
                    if model.config.ends:  # which are no targets
                        logits = logits[..., : model.config.symbols]
                    losses = cross_entropy(logits, targets, "none")
                gradients = torch.autograd.grad(losses.sum() / len(places), weights)
                for parameter, gradient in zip(weights, gradients, strict=True):
                    parameter.grad = gradient
                optimizer.step()
                with torch.no_grad():
                    for parameter, was in zip(weights, trained, strict=True):
                        parameter.lerp_(was, learning.decay)
            nats += float(losses.detach()[:, 0].cpu().numpy().sum(dtype=np.float64))
            state = state.detached()
            scored.watch(int(places[-1]) + 1)  # they come in order
    return Score(nats, len(part))
