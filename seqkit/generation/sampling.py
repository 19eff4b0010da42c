"""How a symbol is drawn from logits: temperature, top-k, top-p, and one uniform number.

The uniform number of stream s at position p is a function of (seed, s, p), so that every engine
makes the same text from the same logits.
"""

import dataclasses

import numpy as np

from seqkit.symbols import Floats, Integers


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How symbols are drawn; `temperature` 0 takes the likeliest one."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0


def draw(logits: Floats, uniform: Floats, sampling: Sampling) -> Integers:
    """One symbol for each stream (S,), given logits (S, V) and uniform numbers (S,) in [0, 1).

    It is the first whose cumulative probability exceeds the uniform number.
    """
    if sampling.temperature == 0:
        return np.asarray(logits.argmax(-1))
    # Scaled to the last sum, which is not exactly 1 after rounding. A symbol of no probability has
    # the same cumulative value as the one before it, so it is never the first to exceed.
    cumulative = shares_of(logits, sampling).cumsum(-1)
    passed = cumulative <= uniform[:, None] * cumulative.max(-1, keepdims=True)
    return np.asarray(passed.sum(-1))


def shares_of(logits: Floats, sampling: Sampling) -> Floats:
    """In which ratio symbols are drawn, (S, V), at a temperature above 0.

    Temperature comes first, then top-k, which keeps ties with the k-th symbol, then top-p among
    what top-k kept (nucleus sampling; Holtzman et al., 2020): the fewest symbols, likeliest first,
    whose probabilities reach top_p.
    """
    if sampling.top_k is not None:
        place = max(logits.shape[-1] - sampling.top_k, 0)
        least = np.partition(logits, place, axis=-1)[:, place, None]
        logits = np.where(logits < least, -np.inf, logits)
    scaled = logits.astype(np.float64)
    shares = np.exp((scaled - scaled.max(-1, keepdims=True)) / sampling.temperature)
    shares = shares / shares.sum(-1, keepdims=True)
    if sampling.top_p is not None and sampling.top_p < 1:
        shares = np.where(_mass_of_likelier(shares) >= sampling.top_p, 0.0, shares)
    return np.asarray(shares)


def _mass_of_likelier(shares: Floats) -> Floats:
    """For each share (S, V) the sum of all larger ones, and of equal ones before it."""
    order = np.argsort(-shares, axis=-1, kind="stable")
    ordered, mass = np.take_along_axis(shares, order, -1), np.empty_like(shares)
    np.put_along_axis(mass, order, np.cumsum(ordered, -1) - ordered, -1)
    return mass


def guided(logits: Floats, strength: float) -> Floats:
    """The logits (S, V) to draw from, of those of 2 S streams, the second half without labels.

    That is u + strength · (l - u), l with labels and u without (Ho and Salimans, "Classifier-free
    diffusion guidance", 2022). With a strength of 1 they are as they were given, (S, V).
    """
    if strength == 1:
        return logits
    labelled, unlabelled = np.split(logits, 2)
    return np.asarray(unlabelled + np.float32(strength) * (labelled - unlabelled))
