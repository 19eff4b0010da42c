"""How a symbol is drawn from logits: temperature, top-k, top-p, and one uniform number.

The uniform number of stream s at position p is a function of (seed, s, p), so that every engine
makes the same text from the same logits.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from seqkit.config import TEMPERATURE, Config
from seqkit.symbols import Floats, Integers

_COLDEST = 1e-30  # a temperature below it is as good as 0, and its inverse no float32


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How symbols are drawn; `temperature` 0 takes the likeliest one."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0


def sampling_of(config: Config) -> Sampling:
    """How the keys of a config draw."""
    temperature = TEMPERATURE if config.temperature is None else config.temperature
    if temperature < _COLDEST:
        temperature = 0.0
    return Sampling(temperature, config.top_k, config.top_p, config.fixed_seed)


def draw(logits: Floats, uniform: Floats, sampling: Sampling) -> Integers:
    """One symbol for each stream (S,), given logits (S, V) and uniform numbers (S,)."""
    return np.asarray(drawn(logits, uniform[:, None], sampling, OnArrays()))


def penalised(logits: Floats, recent: Iterable[Integers], penalty: float) -> Floats:
    """Logits (S, V) with those of recent symbols (S,) divided by a penalty, or if negative times.

    As in CTRL (Keskar et al., 2019): such symbols become less likely, whatever their logit's sign.
    """
    if penalty == 1:
        return logits
    places = np.stack([*recent], 1)
    chosen = np.take_along_axis(logits, places, 1)
    lower = np.where(chosen > 0, chosen / penalty, chosen * penalty)
    less = logits.copy()
    np.put_along_axis(less, places, lower, 1)
    return less


def guided(logits: Floats, strength: float) -> Floats:
    """The logits (S, V) to draw from, of those of 2 S streams, the second half without labels.

    That is u + strength · (l - u), l with labels and u without (Ho and Salimans, "Classifier-free
    diffusion guidance", 2022). With a strength of 1 they are as they were given, (S, V).
    """
    if strength == 1:
        return logits
    labelled, unlabelled = np.split(logits, 2)
    return np.asarray(unlabelled + np.float32(strength) * (labelled - unlabelled))


def drawn(logits: Any, uniforms: Any, sampling: Sampling, on: Any) -> Any:
    """The rule of the draw, on arrays or on what stands for them in a graph.

    A symbol is the first whose cumulative probability exceeds the uniform number.

    Args:
        logits: (S, V).
        uniforms: (S, 1), in [0, 1).
        sampling: how to draw.
        on: `OnArrays`, or what has its methods for such logits.
    """
    if sampling.temperature == 0:
        return logits.argmax(-1)
    # Scaled to the last sum, which is not exactly 1 after rounding. A symbol of no probability has
    # the same cumulative value as the one before it, so it is never the first to exceed.
    cumulative = shares_of(logits, sampling, on).cumsum(-1)
    return (cumulative <= uniforms * cumulative.max(-1, keepdims=True)).sum(-1)


def shares_of(logits: Any, sampling: Sampling, on: Any) -> Any:
    """In which ratio symbols are drawn, (S, V), at a temperature above 0.

    Temperature comes first, then top-k, which keeps ties with the k-th symbol, then top-p among
    what top-k kept (nucleus sampling; Holtzman et al., 2020): the fewest symbols, likeliest first,
    whose probabilities reach top_p.
    """
    if sampling.top_k is not None:
        logits = on.where(logits < on.kth(logits, sampling.top_k), -np.inf, logits)
    shares = on.softmax(logits, sampling.temperature)
    if sampling.top_p is not None and sampling.top_p < 1:
        shares = on.where(on.mass_of_likelier(shares) >= sampling.top_p, 0.0, shares)
    return shares


class OnArrays:
    """The operations of the rule, by NumPy, on x (S, V)."""

    where = staticmethod(np.where)

    def kth(self, x: Floats, k: int) -> Floats:
        """The k-th largest of each row, (S, 1), or the least."""
        place = max(x.shape[-1] - k, 0)
        return np.partition(x, place, axis=-1)[:, place, None]

    def softmax(self, x: Floats, temperature: float) -> Floats:
        """In float64."""
        scaled = x.astype(np.float64)
        shares = np.exp((scaled - scaled.max(-1, keepdims=True)) / temperature)
        return np.asarray(shares / shares.sum(-1, keepdims=True))

    def mass_of_likelier(self, x: Floats) -> Floats:
        """For each value the sum of all larger ones, and of equal ones before it."""
        order = np.argsort(-x, axis=-1, kind="stable")
        ordered, mass = np.take_along_axis(x, order, -1), np.empty_like(x)
        np.put_along_axis(mass, order, np.cumsum(ordered, -1) - ordered, -1)
        return mass
