"""A model continues a prompt."""

import contextlib
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from seqkit.conditions import Conditions
from seqkit.data.codecs import Quantiser
from seqkit.data.labels import Labels
from seqkit.evaluation.recited import Recital
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.machine import Device
from seqkit.generation import novel, sound_faults, takes
from seqkit.generation.ending import cut, cut_at, noting_ends
from seqkit.generation.engine import Blocks, Engine, generate_blocks
from seqkit.generation.engines.choose import (
    as_module,
    build_engine,
    check_engine,
    choose_engine,
    torch_engine,
    wasm_engine,
)
from seqkit.generation.labelled import Choice, choose
from seqkit.generation.loop import looped
from seqkit.generation.request import Request, require_streams
from seqkit.generation.sampling import guided
from seqkit.generation.slow_tier import Writing
from seqkit.generation.stream_conditions import StreamConditions
from seqkit.generation.trained import Trained
from seqkit.model.arrays import Network
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, Symbols

if TYPE_CHECKING:
    from seqkit.model.char_rnn import CharRNN

REMEMBERED = 100_000
"""Symbols of a prompt that are read, the last ones: far more than a state remembers."""
Scoring = Callable[[Integers, State, Conditions], tuple[Floats, State]]
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
    model, codec, slow = trained.model, trained.codec, trained.slow
    require_streams(model.config, request.streams, model.device)
    choice = _choice(trained.labels, request, notice)
    size, strength = request.size(codec), request.label_strength
    exact = request.engine == "wasm"  # all is read and made in integers, as in the page
    _require_torch(request, strength != 1 and (exact or slow is None))
    engine = engine or engine_for(trained, request, choice, notice)
    if choice is not None:
        model = model.with_choices(choice.weights)
    most = REMEMBERED // model.config.frame * model.config.frame
    if len(prompt) > most:
        notice(f"of the {len(prompt):,} symbols of the prompt the model reads the last {most:,}")
    read, seed = prompt[-most:], request.sampling.seed
    codes, written, over = None, None, deque[npt.NDArray[np.bool_]]()
    of_codes = request.ending is not None and not request.ending.symbols
    if slow is not None:
        assert isinstance(codec, Quantiser)
        codes = slow.of_prompt(codec, read)
        if request.like is not None:
            written = slow.following(codec, request.like)
        else:
            writing = Writing(
                streams=request.streams,
                seed=seed,
                choice=choice,
                strength=strength,
                ends=of_codes,
                engine_of=partial(engine_of_codes, request, model.device),
            )
            written = slow.written(codec, codes, writing)
        if of_codes:
            written = noting_ends(written, over)
        strength = 1.0  # it went to the writer of the codes
    choices = np.zeros(request.streams, np.int64)
    if choice is not None:
        choices = choice.of_streams(strength)
    conditions = StreamConditions(choices, codes, written)
    state = begin or (model.zero_state(1), codec.start)
    score = engine.score if engine.reads else partial(score_by_network, as_module(model), size)
    logits, after = feed_prompt(score, state, read, conditions)
    logits = guided(logits, strength)
    blocks = generate_blocks(
        engine, logits, after, request.length, request.sampling, conditions=conditions.of_new
    )
    if of_codes:
        blocks = cut_at(blocks, over.popleft)
    elif request.ending is not None:
        blocks = cut(blocks, request.ending, request.streams)
    if request.novel:
        if isinstance(codec, Quantiser):
            raise ConfigError("sample.novel=true: this model makes sound, and it is for text")
        draw = partial(continue_prompt, notice=lambda _: None, begin=begin, engine=engine)
        blocks = novel.redrawn(blocks, trained, prompt, request, draw, notice=notice)
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

    `notice` is told in the end how much of them recites, unless `recites` is; and of sound its
    faults, and whether it is like the recording.
    """
    codec, recording = trained.codec, trained.recording
    before = prompt if request.include_prompt else prompt[:0]
    if request.extra:
        assert isinstance(codec, Quantiser)
        blocks = looped(blocks, codec, request.length - request.extra)
    if request.takes > 1:
        blocks = takes.best(trained, request, before, blocks, notice=notice)
    blocks = novel.told(blocks, trained.index, prompt, recites or (lambda s: notice(s.words)))
    if request.takes > 1 or not isinstance(codec, Quantiser):
        return blocks
    if request.like is None:  # whose rests are no faults
        blocks = sound_faults.watched(blocks, codec, before, notice, recording)
    if recording is None or not request.judged:
        return blocks
    return sound_faults.judged(
        blocks, trained, recording, lambda stream, said: notice(f"stream {stream} {said.words}")
    )


def _require_torch(request: Request, guided: bool) -> None:
    """Refuse another engine for what only torch computes. Raises ConfigError."""
    keys = {"label_strength": guided, "sample.repetition_penalty": request.repetition_penalty != 1}
    for key, is_asked_for in keys.items():
        if is_asked_for and request.engine not in ("auto", "torch"):
            raise ConfigError(f"sample.engine={request.engine}: {key} is for sample.engine=torch")
        if is_asked_for and request.precision not in ("auto", "fp32"):
            raise ConfigError(f"sample.precision={request.precision}: {key} is computed in fp32")


def engine_for(
    trained: Trained, request: Request, choice: Choice | None, notice: Callable[[str], None]
) -> Engine:
    """A new engine for a choice of labels; arguments and errors as of `continue_prompt`."""
    model, size = trained.model, request.size(trained.codec)
    weights = None if choice is None else choice.weights
    if request.engine == "wasm":
        check_engine(model.config, size, request, model.device)
        return wasm_engine(model, size, weights)
    labelled = model if weights is None else model.with_choices(weights)
    strength = request.label_strength if trained.slow is None else 1.0
    if strength != 1 or request.repetition_penalty != 1:
        return torch_engine(labelled, size, strength, request.repetition_penalty)

    def tell_once(text: str) -> None:
        if text not in trained.notices:
            trained.notices.add(text)
            notice(text)

    return choose_engine(labelled, size, request, tell_once)


def engine_of_codes(
    request: Request, device: Device, writer: Network, size: int, writing: Writing
) -> Engine:
    """What runs the writer of codes: in fp32, unless all is to be as in the page."""
    labels = None if writing.choice is None else writing.choice.weights
    if request.engine == "wasm":
        return wasm_engine(writer, size, labels)
    labelled = writer if labels is None else writer.with_choices(labels)
    if device.type == "cpu" and request.engine != "torch" and writing.strength == 1:
        with contextlib.suppress(ConfigError):  # ONNX Runtime does not load
            return build_engine("onnx", "fp32", labelled, size, writing.streams)
    return torch_engine(labelled, size, writing.strength)


def feed_prompt(
    score: Scoring, begin: tuple[State, int], prompt: Symbols, conditions: StreamConditions
) -> tuple[Floats, State]:
    """Feed a first symbol and a prompt (N,): logits (S, V) of what follows, and state.

    `begin` is the state before the first symbol, and that symbol; `score` is as `Engine.score`.
    """
    state, first = begin
    fed = np.concatenate([[first], prompt]).astype(np.int64)[:, None]
    choices, of_stream = np.unique(conditions.choices, return_inverse=True)
    states = []
    for choice in choices.tolist():
        after = state
        for place in range(0, len(prompt), _BLOCK):
            end = min(place + _BLOCK, len(prompt))
            _, after = score(fed[place:end], after, conditions.of_prompt(place, end, choice))
        states.append(after)
    parts = zip(*(after.arrays() for after in states), strict=True)
    spread = State(*(np.concatenate(part, 1)[:, of_stream] for part in parts))
    logits, after = score(np.repeat(fed[-1:], len(of_stream), 1), spread, conditions.of_new(0, 1))
    return logits[0], after


def score_by_network(
    network: "CharRNN", size: int, symbols: Integers, state: State, conditions: Conditions
) -> tuple[Floats, State]:
    """What `Engine.score` does, but for the prepared weights; `size` is the codec's V."""
    import torch

    fed, begin = torch.from_numpy(symbols).to(network.device), state.on(network.device)
    with torch.inference_mode():
        logits, after = network(fed, begin, conditions=conditions.to(network.device))
    return logits[..., :size].float().cpu().numpy(), after.arrays()


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
