"""How a symbol is drawn from logits: temperature, top-k, top-p, and one uniform number.

The uniform number of stream s at position p is a function of (seed, s, p), so that every engine
makes the same text from the same logits.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from seqkit.config import TEMPERATURE, Config
from seqkit.symbols import Floats

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


def probabilities(logits: Floats, sampling: Sampling) -> npt.NDArray[np.float64]:
    """The distribution (S, V) that symbols are drawn from, given logits (S, V).

    Temperature comes first, then top-k, which keeps ties with the k-th symbol, then top-p among
    what top-k kept (nucleus sampling; Holtzman et al., 2020): the fewest symbols, likeliest first,
    whose probabilities reach top_p.
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
    # Scaled to the last sum, which is not exactly 1 after rounding. A symbol of no probability has
    # the same cumulative value as the one before it, so it is never the first to exceed.
    below = cumulative <= uniform[:, None] * cumulative[:, -1:]
    drawn: npt.NDArray[np.int64] = np.count_nonzero(below, axis=-1)
    return drawn
