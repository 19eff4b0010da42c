"""The sampler: symbols of S streams side by side, block by block, each stream up to its ending.

An engine makes the steps, and draws what follows with the uniform numbers that it is given. That of
stream s at position p is a function of (seed, s, p), so that every engine makes the same text from
the same logits. The sampler knows no model, so that a fake engine of five lines can test it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from seqkit.data.codecs import Codec
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, Symbols, symbol_dtype, uniforms_of_streams

Blocks = Iterator[Integers]
"""Symbols as they are made, in blocks (N, S): the next N of S streams."""
ENDED = -1
"""Stands in a block for the symbols that a stream which has ended no longer has."""
_DRAWN = 1 << 17  # symbols of a block in all streams: it ends soon, so can be shown and stopped


@dataclass(frozen=True)
class Sampling:
    """How symbols are drawn; `temperature` 0 takes the likeliest one."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class Drawing:
    """What an engine is to draw for S streams.

    Attributes:
        symbols: (S,), fed first; then every drawn symbol is fed.
        state: before them.
        draws: blocks (N, S) of numbers, uniform in [0, 1); an engine may read ahead.
        sampling: how to draw.
        labels: the choice of labels of each stream, (S,), of a network that has such in place of
            labels (see `NetworkArrays.with_choices`); 0 is none.
    """

    symbols: Integers
    state: State
    draws: Iterable[Floats]
    sampling: Sampling
    labels: Integers


class Engine(Protocol):
    """Generates and scores: one of `engines`."""

    block: int
    """Steps in which it runs fast, and which take less than a moment: people see text appear."""

    def sample(self, drawing: Drawing) -> Blocks:
        """Yield blocks (N, S) of drawn symbols, one for each block of draws."""
        ...

    def score(self, symbols: Integers, state: State, labels: Integers) -> tuple[Floats, State]:
        """Feed symbols (N, S): the logits (N, S, V) of what follows each, and the state after.

        `labels` (S,) are as in `Drawing`.
        """
        ...


@dataclass(frozen=True)
class Ending:
    """The symbols after which a stream ends.

    `is_document`: it is the one after the codec's own, which stands for the end of a document. It
    is no part of the sample.
    """

    symbols: tuple[int, ...]
    is_document: bool = False


@dataclass(frozen=True)
class Prompt:
    """What a sample continues: a text, or a file of text or of sound; by default nothing."""

    text: str | None = None
    file: str | None = None
    audio: str | None = None
    unknown: str = "error"
    """What becomes of characters that the model never saw: error, skip or nearest."""
    channel: str = "mix"
    """As `data.channel`."""


@dataclass(frozen=True)
class Request:
    """How a prompt is continued."""

    length: int
    """New symbols of each stream."""
    streams: int = 1
    takes: int = 1
    """How many of the streams are takes, of which one is kept: all of them, or 1 for none."""
    sampling: Sampling = Sampling()
    seed_is_drawn: bool = False
    """Whether nobody gave the seed, so that it is told."""
    engine: str = "auto"
    precision: str = "auto"
    label: str | None = None
    label_strength: float = 1.0
    ending: Ending | None = None
    """What ends a stream before its length."""
    extra: int = 0
    """How much of the length is made for a choice of where a loop begins; 0 for no loop."""

    def size(self, codec: Codec) -> int:
        """How many symbols are drawn from: those of a codec, and the end of a document if asked."""
        return codec.size + bool(self.ending and self.ending.is_document)


def sample_blocks(
    engine: Engine, logits: Floats, state: State, length: int, sampling: Sampling, labels: Integers
) -> Blocks:
    """Yield the next `length` symbols of all streams in blocks (N, S).

    The first block is a single symbol, available at once; the others have the engine's size, or
    less of very many streams. Memory does not grow with the length.

    The first symbol is drawn from `logits` (S, V), those of the state after the prompt; `labels`
    (S,) are as in `Drawing`.
    """
    first = draw(logits, uniforms_of_streams(sampling.seed, range(len(logits)), 0, 1)[0], sampling)
    yield first[None]
    streams = len(logits)
    size = max(1, min(engine.block, _DRAWN // streams))

    blocks = ((begin, min(size, length - begin)) for begin in range(1, length, size))
    draws = (uniforms_of_streams(sampling.seed, range(streams), *block) for block in blocks)
    yield from engine.sample(Drawing(first, state, draws, sampling, labels))


def cut(blocks: Blocks, ending: Ending, streams: int) -> Blocks:
    """Hand on blocks (N, S) in which what follows a stream's ending is `ENDED`.

    No block is taken after all streams have ended, and the last one is as long as the longest.
    """
    before = np.full((len(ending.symbols) - 1, streams), ENDED)
    ended = np.zeros(streams, dtype=bool)
    for block in blocks:
        rows = np.concatenate([before, block])
        is_end = np.ones(block.shape, dtype=bool)  # where an ending has its last symbol
        for offset, symbol in enumerate(ending.symbols):
            is_end &= rows[offset : offset + len(block)] == symbol
        ends = is_end.any(0)
        lengths = np.where(ends, is_end.argmax(0) + (not ending.is_document), len(block))
        lengths[ended] = 0
        ended |= ends
        if longest := lengths.max(initial=0):
            yield np.where(np.arange(longest)[:, None] >= lengths, ENDED, block[:longest])
        if ended.all():
            return
        before = rows[len(block) :]


def without_ended(symbols: Integers) -> Integers:
    """What a stream has of a block: its symbols (N,) up to its end."""
    return np.extract(symbols != ENDED, symbols)


def streams_of(blocks: Iterable[Integers], codec: Codec) -> list[Symbols]:
    """The symbols (n,) of each stream of all blocks (N, S), up to its end; none of no block."""
    kind = symbol_dtype(codec.size)
    pieces = [[without_ended(x).astype(kind) for x in block.T] for block in blocks]
    return [np.concatenate(each) for each in zip(*pieces, strict=True)]


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
        order, likelier = np.argsort(-shares, axis=-1, kind="stable"), np.empty_like(shares)
        ordered = np.take_along_axis(shares, order, -1)
        np.put_along_axis(likelier, order, np.cumsum(ordered, -1) - ordered, -1)
        shares = np.where(likelier >= sampling.top_p, 0.0, shares)
    return np.asarray(shares)


def guided(logits: Floats, strength: float) -> Floats:
    """The logits (S, V) to draw from, of those of 2 S streams, the second half without labels.

    That is u + strength · (l - u), l with labels and u without (Ho and Salimans, "Classifier-free
    diffusion guidance", 2022). With a strength of 1 they are as they were given, (S, V).
    """
    if strength == 1:
        return logits
    labelled, unlabelled = np.split(logits, 2)
    return np.asarray(unlabelled + np.float32(strength) * (labelled - unlabelled))
