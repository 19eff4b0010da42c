"""A model continues a prompt: what becomes of a request, from top to bottom."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from seqkit.data.codecs import Codec, Spectral
from seqkit.data.labels import Labels
from seqkit.evaluation.recording import Recording
from seqkit.generation import listening
from seqkit.generation.engines import choose_engine
from seqkit.generation.labelled import choice_of
from seqkit.generation.sampler import Blocks, Engine, Request, cut, guided, sample_blocks
from seqkit.model.arrays import Network, NetworkArrays
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, Symbols

REMEMBERED = 100_000
"""Symbols of a prompt that are read, the last ones: far more than a state remembers."""
Scoring = Callable[[Integers, State, Integers], tuple[Floats, State]]
_BLOCK = 512  # symbols of a prompt that are read at a time


@dataclass(frozen=True)
class Trained:
    """A network that generates, and what it has learnt with.

    recording: what its sound is compared with.
    labels: those that it reads.
    engines: that of the last sample with what it fits, for the next one: a new one takes time.
    """

    model: Network
    codec: Codec
    recording: Recording | None = None
    labels: Labels | None = None
    engines: list[tuple[object, Engine]] = field(default_factory=list, compare=False)


def generate(
    trained: Trained,
    prompt: Symbols,
    request: Request,
    notice: Callable[[str], None],
    *,
    begin: tuple[State, int] | None = None,
    watch: Callable[[Blocks], Blocks] = iter,
) -> Blocks:
    """The new symbols, in blocks (N, S); after the ending of a stream stands `sampler.ENDED`.

    What can fail (an engine that cannot run, memory) fails here, before the first block.

    Args:
        trained: what continues.
        prompt: symbols (N,), of which the last `REMEMBERED` are read.
        request: how.
        notice: is told what is drawn, labels and a seed, and in the end what `listening` finds.
        begin: a state, (L, 1, H), and the symbol that is fed first; by default zeros and the
            codec's start symbol.
        watch: hands on what is drawn, and may end it, before loops and takes are made of it.

    Raises:
        ConfigError, DeviceError: the engine that was asked for cannot run, or there is no such
            label; or nothing is new.
    """
    network, codec = trained.model, trained.codec
    choice = choice_of(trained.labels, request, notice)
    fits, engine = _engine(trained, request, choice.weights, notice)
    most = REMEMBERED // network.config.frame * network.config.frame
    if len(prompt) > most:
        notice(f"of the {len(prompt):,} symbols of the prompt the model reads the last {most:,}")

    state = begin or (network.zero_state(1), codec.start)
    labels = choice.streams
    if request.label_strength != 1:  # the second half of 2 S streams has none
        labels = np.append(labels, 0 * labels)
    logits, after = feed_prompt(engine.score, state, prompt[-most:], labels)
    logits, sampling = guided(logits, request.label_strength), request.sampling
    blocks = sample_blocks(engine, logits, after, request.length, sampling, labels=labels)
    if request.ending is not None:
        blocks = cut(blocks, request.ending, request.streams)
    if request.seed_is_drawn and request.sampling.temperature > 0:  # else nothing is drawn
        notice(f"seed={request.sampling.seed}")
    blocks = watch(blocks)
    if request.extra and isinstance(codec, Spectral):
        blocks = listening.looped(blocks, codec, request.length - request.extra)
    if trained.recording is not None and codec.kind == "audio":
        heard = listening.best if request.takes > 1 else listening.judged
        blocks = heard(blocks, codec, trained.recording, notice)
    return _keeping(trained, (fits, engine), blocks)


def feed_prompt(
    score: Scoring, begin: tuple[State, int], prompt: Symbols, labels: Integers
) -> tuple[Floats, State]:
    """Feed a first symbol and a prompt (N,): logits (S, V) of what follows, and state.

    `begin` is the state before the first symbol, and that symbol; `score` is as `Engine.score`, and
    `labels` (S,) as in `Drawing`: streams of one label read the prompt once.
    """
    state, first = begin
    fed = np.concatenate([[first], prompt]).astype(np.int64)[:, None]
    choices, of_stream = np.unique(labels, return_inverse=True)
    states = []
    for choice in choices[:, None]:
        after = state
        for place in range(0, len(prompt), _BLOCK):
            end = min(place + _BLOCK, len(prompt))
            _, after = score(fed[place:end], after, choice)
        states.append(after)
    parts = zip(*(after.arrays() for after in states), strict=True)
    spread = State(*(np.concatenate(part, 1)[:, of_stream] for part in parts))
    logits, after = score(np.repeat(fed[-1:], len(of_stream), 1), spread, labels)
    return logits[0], after


def _engine(
    trained: Trained, request: Request, labels: Floats | None, notice: Callable[[str], None]
) -> tuple[object, Engine]:
    """The engine that was kept, if it fits, else a new one; and what it fits.

    It depends on the request but for its draws, on the labels, and on weights that it copied.
    """
    network, size = trained.model, request.size(trained.codec)
    weights = list[tuple[int, int]]()
    if not isinstance(network, NetworkArrays):
        weights = [(each.data_ptr(), each._version) for each in network.parameters()]
    runs = request.engine, request.precision, request.streams, request.label_strength
    fits = runs, size, None if labels is None else labels.tolist(), weights
    kept = trained.engines.pop() if trained.engines else None
    if kept is not None and kept[0] == fits:
        return kept
    kept = None  # its memory first
    return fits, choose_engine(network, size, request, notice, labels)


def _keeping(trained: Trained, kept: tuple[object, Engine], blocks: Blocks) -> Iterator[Integers]:
    """Hand on blocks, and keep the engine that makes them after the last one."""
    with contextlib.suppress(GeneratorExit):
        yield from blocks
    trained.engines[:] = [kept]
