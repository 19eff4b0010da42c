"""Sampling: one symbol after the other, from any engine that can make a step.

The sampler knows no model. An engine is a function (symbols (S,), state) -> (logits (S, V), state)
for S streams side by side; the draw of stream s at position p is a function of (seed, s, p), so
that every engine makes the same text from the same logits.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from seqkit.codecs import Symbols
from seqkit.model import CharRNN, State
from seqkit.randomness import uniforms

Floats = npt.NDArray[np.floating[Any]]
Step = Callable[[npt.NDArray[np.int64], State], tuple[Floats, State]]

_BLOCK = 1024  # draws made, and prompt symbols read, at a time


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How symbols are drawn: `temperature` 0 takes the likeliest one."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0


def probabilities(logits: Floats, sampling: Sampling) -> npt.NDArray[np.float64]:
    """The distribution (S, V) that symbols are drawn from, given logits (S, V).

    Temperature first, then top-k, then top-p (nucleus sampling; Holtzman et al., 2020) of what
    top-k left: the fewest symbols, likeliest first, whose probabilities reach top_p. Symbols that
    tie with the last one kept by top-k are kept, too.
    """
    scaled = logits.astype(np.float64)
    scaled -= scaled.max(axis=-1, keepdims=True)
    if sampling.temperature == 0:
        scaled = np.where(np.arange(scaled.shape[-1]) == scaled.argmax(-1)[:, None], 0.0, -np.inf)
    else:
        scaled /= sampling.temperature
    if sampling.top_k is not None and sampling.top_k < scaled.shape[-1]:
        kth = np.partition(scaled, -sampling.top_k, axis=-1)[:, -sampling.top_k, None]
        scaled[scaled < kth] = -np.inf
    shares = np.exp(scaled)
    shares /= shares.sum(-1, keepdims=True)
    if sampling.top_p is not None and sampling.top_p < 1:
        order = np.argsort(-shares, axis=-1, kind="stable")
        ordered = np.take_along_axis(shares, order, -1)
        surplus = np.cumsum(ordered, -1) - ordered >= sampling.top_p
        np.put_along_axis(shares, order, np.where(surplus, 0.0, ordered), -1)
        shares /= shares.sum(-1, keepdims=True)
    return shares


def draw(logits: Floats, uniform: Floats, sampling: Sampling) -> npt.NDArray[np.int64]:
    """One symbol for each stream: the first whose cumulative probability exceeds `uniform` (S,)."""
    cumulative = np.cumsum(probabilities(logits, sampling), axis=-1)
    # Scaled to the last sum, which rounding leaves a hair off 1; symbols of no probability have
    # the cumulative value of the one before them and are never the first to exceed.
    below = cumulative <= uniform[:, None] * cumulative[:, -1:]
    drawn: npt.NDArray[np.int64] = np.count_nonzero(below, axis=-1)
    return drawn


def generate(
    step: Step, logits: Floats, state: State, length: int, sampling: Sampling
) -> Iterator[npt.NDArray[np.int64]]:
    """Yield `length` times the next symbols (S,), each as soon as it is drawn.

    Args:
        step: the engine.
        logits: (S, V), of the first symbol to draw.
        state: the engine's state after what came before.
    """
    for position in range(length):
        place = position % _BLOCK
        if place == 0:
            count = min(_BLOCK, length - position)
            draws = np.stack(
                [uniforms(sampling.seed, stream, position, count) for stream in range(len(logits))]
            )
        symbols = draw(logits, draws[:, place], sampling)
        yield symbols
        if position + 1 < length:
            logits, state = step(symbols, state)


class TorchEngine:
    """The reference engine: the model itself, one step a call, on any device."""

    def __init__(self, model: CharRNN, size: int) -> None:
        """`size` is the codec's; logits that the model has beyond it stand for nothing."""
        self._model = model
        self._size = size

    @torch.inference_mode()
    def __call__(self, symbols: npt.NDArray[np.int64], state: State) -> tuple[Floats, State]:
        """One step: symbols (S,) and state in, logits (S, V) and state out."""
        logits, state = self._model(self._tensor(symbols[None]), state)
        return self._numpy(logits[0]), state

    @torch.inference_mode()
    def read(self, start: int, prompt: Symbols, streams: int) -> tuple[Floats, State]:
        """Read the start symbol and a prompt (N,): logits (S, V) of what follows, and state."""
        state = self._model.zero_state(1)
        symbols = np.concatenate([[start], prompt]).astype(np.int64)
        for first in range(0, len(symbols), _BLOCK):
            logits, state = self._model(self._tensor(symbols[first : first + _BLOCK, None]), state)
        spread = State(*(values.repeat(1, streams, 1) for values in state))
        return self._numpy(logits[-1].repeat(streams, 1)), spread

    def _tensor(self, symbols: npt.NDArray[np.int64]) -> torch.Tensor:
        return torch.from_numpy(symbols).to(self._model.head.weight.device)

    def _numpy(self, logits: torch.Tensor) -> Floats:
        return logits[:, : self._size].float().cpu().numpy()
