"""A model continues a prompt."""

from collections.abc import Callable
from functools import partial

import numpy as np

from seqkit.data.labels import Labels
from seqkit.evaluation.recited import Recital
from seqkit.foundation.errors import ConfigError
from seqkit.generation import listening, novel
from seqkit.generation.ending import cut
from seqkit.generation.engine import Blocks, Engine, generate_blocks
from seqkit.generation.engines.choose import choose_engine
from seqkit.generation.labelled import Choice, choose
from seqkit.generation.loop import looped
from seqkit.generation.request import Request, Trained, require_streams
from seqkit.generation.sampling import guided
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, Symbols

REMEMBERED = 100_000
"""Symbols of a prompt that are read, the last ones: far more than a state remembers."""
Scoring = Callable[[Integers, State, Integers], tuple[Floats, State]]
_BLOCK = 512  # symbols of a prompt that are read at a time
_SHOWN = 8  # labels that are named


def continue_prompt(
    trained: Trained,
    prompt: Symbols,
    request: Request,
    *,
    notice: Callable[[str], None],
    begin: tuple[State, int] | None = None,
    engine: Engine | None = None,
) -> Blocks:
    """The new symbols, in blocks (N, S), of which nothing is told yet: see `finish`.

    After the ending of a stream that has one stands `ending.ENDED`.

    Of a prompt of more than `REMEMBERED` symbols only the last ones are read, which `notice` is
    told.

    `begin` is a state, (L, 1, H), and the symbol that is fed first: by default zeros and the
    codec's start symbol. `engine` is one of `engine_for` that nothing else uses; by default a new
    one.

    What can fail (an engine that cannot run, memory) fails here, before the first block.

    Raises:
        ConfigError, DeviceError: the engine that was asked for cannot run, or not so many streams;
            or there is no such label.
    """
    model, codec = trained.model, trained.codec
    require_streams(model.config, request.streams, model.device)
    choice = _choice(trained.labels, request, notice)
    strength = request.label_strength
    engine = engine or engine_for(trained, request, choice, notice)
    most = REMEMBERED // model.config.frame * model.config.frame
    if len(prompt) > most:
        notice(f"of the {len(prompt):,} symbols of the prompt the model reads the last {most:,}")
    labels = np.zeros(request.streams, np.int64)
    if choice is not None:
        labels = choice.of_streams(strength)
    state = begin or (model.zero_state(1), codec.start)
    logits, after = feed_prompt(engine.score, state, prompt[-most:], labels)
    logits = guided(logits, strength)
    blocks = generate_blocks(engine, logits, after, request.length, request.sampling, labels=labels)
    if request.ending is not None:
        blocks = cut(blocks, request.ending, request.streams)
    if request.novel:
        if codec.kind == "audio":
            raise ConfigError("sample.novel=true: this model makes sound, and it is for text")
        draw = partial(continue_prompt, notice=lambda _: None, begin=begin, engine=engine)
        blocks = novel.redrawn(blocks, trained, prompt, request, draw, notice=notice)
    if request.seed_is_drawn and request.sampling.temperature > 0:  # else nothing is drawn
        notice(f"seed={request.sampling.seed}")
    return blocks


def finish(
    trained: Trained,
    request: Request,
    prompt: Symbols,
    blocks: Blocks,
    *,
    notice: Callable[[str], None],
    recites: Callable[[Recital], object] | None = None,
) -> Blocks:
    """What becomes of the blocks that `continue_prompt` makes: loops, the best take, or they.

    `notice` is told in the end how much of them recites, unless `recites` is; and of each stream of
    sound whether it is like the recording.
    """
    codec, recording = trained.codec, trained.recording
    if request.extra:
        assert codec.kind == "audio"
        blocks = looped(blocks, codec, request.length - request.extra)
    if request.takes > 1:
        blocks = listening.best(trained, blocks, notice)
    blocks = novel.told(blocks, trained.index, prompt, recites or (lambda s: notice(s.words)))
    if recording is None or request.takes > 1:
        return blocks
    return listening.judged(
        blocks, trained, recording, lambda stream, said: notice(f"stream {stream} {said.words}")
    )


def engine_for(
    trained: Trained, request: Request, choice: Choice | None, notice: Callable[[str], None]
) -> Engine:
    """A new engine for a choice of labels; arguments and errors as of `continue_prompt`."""
    labels = None if choice is None else choice.weights
    return choose_engine(trained.model, request.size(trained.codec), request, notice, labels)


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


def _choice(
    labels: Labels | None, request: Request, notice: Callable[[str], None]
) -> Choice | None:
    """The labels of all streams, which `notice` is told if some are drawn. Raises ConfigError."""
    if labels is None:
        if request.label is not None or request.label_strength != 1:
            raise ConfigError(
                "label: this model learnt no labels: train one with data.label, as in "
                "data.path=FOLDER data.label=folder"
            )
        return None
    choice = choose(labels, request.label, request.streams, request.sampling.seed)
    first, *others = choice.words
    if {first} != {*choice.words}:
        shown = [f"stream {n}: {words}" for n, words in enumerate(choice.words[:_SHOWN], 1)]
        notice("; ".join(shown) + (" …" if len(others) >= _SHOWN else ""))
    elif first != request.label:
        notice(f"label={first}")
    return choice
