"""Sampling: one symbol after the other, from any engine.

The sampler knows no model. An engine feeds S streams side by side and draws what follows with the
uniform numbers that the sampler hands it; that of stream s at position p is a function of
(seed, s, p), so that every engine makes the same text from the same logits.
"""

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from seqkit.config import TEMPERATURE, Config
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.randomness import uniforms
from seqkit.symbols import Integers, Symbols

Floats = npt.NDArray[np.floating[Any]]
Step = Callable[[Integers, Any], tuple[Floats, Any]]
"""One step: symbols (S,) and state in, logits (S, V) of what follows and state out."""

_FIRST = 8  # symbols of the first block
_MOMENT = 0.2  # seconds that a block may take, so that one sees it come
_BLOCK = 1024  # symbols of a block in a long run, and of the prompt
_COLDEST = 1e-30  # a temperature below it is as good as 0, and its inverse no float32


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How symbols are drawn: `temperature` 0 takes the likeliest one."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0


def sampling_of(config: Config) -> Sampling:
    """The rule that a config asks for."""
    temperature = TEMPERATURE if config.temperature is None else config.temperature
    if temperature < _COLDEST:
        temperature = 0.0
    return Sampling(temperature, config.top_k, config.top_p, config.seed)


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


class Engine(Protocol):
    """What generates: one of `generation.engines`, or a step function lifted by `Stepwise`."""

    def sample(
        self, symbols: Integers, state: State, draws: Iterable[Floats], sampling: Sampling
    ) -> Iterator[Integers]:
        """Yield blocks (N, S) of drawn symbols, one for each block (N, S) of `draws`.

        Args:
            symbols: (S,), fed first; then every drawn symbol is fed.
            state: after what came before them.
            draws: uniform in [0, 1); may be taken ahead of what is yielded.
            sampling: the rule, see `probabilities`.
        """
        ...

    def score(self, symbols: Integers, state: State) -> tuple[Floats, State]:
        """Feed symbols (N, S): the logits (N, S, V) of what follows each, and the state after."""
        ...


class Stepwise:
    """Makes an engine of a function that makes one step."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def sample(
        self, symbols: Integers, state: Any, draws: Iterable[Floats], sampling: Sampling
    ) -> Iterator[Integers]:
        """See Engine; the state is the step's own."""
        for block in draws:
            drawn = []
            for uniform in block:
                logits, state = self._step(symbols, state)
                symbols = draw(logits, uniform, sampling)
                drawn.append(symbols)
            yield np.stack(drawn)

    def score(self, symbols: Integers, state: Any) -> tuple[Floats, Any]:
        """See Engine."""
        rows = []
        for row in symbols:
            logits, state = self._step(row, state)
            rows.append(logits)
        return np.stack(rows), state


def generate(
    engine: Engine, logits: Floats, state: State, length: int, sampling: Sampling
) -> Iterator[Integers]:
    """Yield the next `length` symbols of all streams in blocks (N, S).

    The first block is a single symbol, there at once, and the blocks grow to what is efficient;
    what is held in memory does not grow with the length.

    Args:
        engine: what makes the steps.
        logits: (S, V), of the first symbol to draw.
        state: after what came before.
    """
    first = draw(logits, uniforms_of(sampling.seed, len(logits), 0, 1)[0], sampling)
    yield first[None]
    blocks = _blocks(length)
    draws = (uniforms_of(sampling.seed, len(logits), *block) for block in blocks)
    yield from engine.sample(first, state, draws, sampling)


def _blocks(length: int) -> Iterator[tuple[int, int]]:
    """Position and size of the blocks after the first symbol: what is made in a moment."""
    position, size = 1, _FIRST
    asked = time.monotonic()
    while position < length:
        yield position, min(size, length - position)
        position += size
        seconds = time.monotonic() - asked
        asked += seconds
        if seconds < _MOMENT / 2:
            size = min(2 * size, _BLOCK)
        elif seconds > _MOMENT:
            size = max(1, size // 2)


def uniforms_of(seed: int, streams: int, position: int, count: int) -> Floats:
    """The draws (count, S) of all streams from a position on."""
    return np.stack([uniforms(seed, stream, position, count) for stream in range(streams)], axis=1)


@torch.inference_mode()
def read_prompt(
    model: CharRNN, size: int, start: int, prompt: Symbols, streams: int
) -> tuple[Floats, State]:
    """Read the start symbol and a prompt (N,): logits (S, V) of what follows, and state.

    `size` is the codec's; logits that the model has beyond it stand for nothing.
    """
    state = model.zero_state(1)
    symbols = np.concatenate([[start], prompt]).astype(np.int64)
    with torch.backends.cudnn.flags(allow_tf32=False):
        for first in range(0, len(symbols), _BLOCK):
            fed = torch.from_numpy(symbols[first : first + _BLOCK, None])
            logits, state = model(fed.to(model.head.weight.device), state)
    spread = State(*(values.repeat(1, streams, 1) for values in state))
    return logits[-1, :, :size].float().repeat(streams, 1).cpu().numpy(), spread
