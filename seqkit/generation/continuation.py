"""A model continues a prompt."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from seqkit.conditions import Conditions
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.labels import Labels
from seqkit.evaluation.recording import Recording
from seqkit.foundation.errors import ConfigError
from seqkit.generation import sound_faults
from seqkit.generation.ending import cut, cut_at, noting_ends
from seqkit.generation.engine import Blocks, Engine, generate_blocks
from seqkit.generation.engines.choose import check_engine, choose_engine, wasm_engine
from seqkit.generation.engines.pytorch import TorchEngine
from seqkit.generation.labelled import Choice, choose
from seqkit.generation.like import levelled
from seqkit.generation.request import Request, require_streams
from seqkit.generation.slow_tier import SlowTier
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.symbols import Floats, Integers, Symbols

REMEMBERED = 100_000
"""Symbols of a prompt that are read, the last ones: far more than a state remembers."""
Scoring = Callable[[Integers, State, Integers], tuple[Floats, State]]
_BLOCK = 512  # symbols of a prompt that are read at a time
_SHOWN = 8  # labels that are told


def continue_prompt(
    model: CharRNN,
    codec: Codec,
    prompt: Symbols,
    request: Request,
    *,
    notice: Callable[[str], None],
    begin: tuple[State, int] | None = None,
    engine: Engine | None = None,
    slow: SlowTier | None = None,
    recording: Recording | None = None,
    labels: Labels | None = None,
) -> Blocks:
    """The new symbols, in blocks (N, S); sound is watched, and compared with a `recording`.

    After the ending of a stream that has one stands `ending.ENDED`.

    Of a prompt of more than `REMEMBERED` symbols only the last ones are read, which `notice` is
    told.

    `begin` is a state, (L, 1, H), and the symbol that is fed first: by default zeros and the
    codec's start symbol. `slow` writes what the model is told of sound, and `labels` are those that
    it learnt. `engine` is one of `engine_for` that nothing else uses; by default a new one.

    What can fail (an engine that cannot run, memory) fails here, before the first block.

    Raises:
        ConfigError, DeviceError: the engine that was asked for cannot run, or not so many streams;
            or there is no such label.
    """
    require_streams(model.config, request.streams, model.head.weight.device)
    choice = _choice(labels, request, notice)
    size, strength = request.size(codec), request.label_strength
    exact = request.engine == "wasm"  # all is read and made in integers, as in the page
    if strength != 1 and (exact or slow is None) and request.engine not in ("auto", "torch"):
        raise ConfigError(
            f"sample.engine={request.engine}: label_strength is for sample.engine=torch"
        )
    engine = engine or engine_for(model, size, request, choice, notice, slow=slow)
    if choice is not None:
        model = model.with_labels(choice.weights)
    if slow is not None:
        strength = 1.0  # it goes to the writer of the codes
    if len(prompt) > REMEMBERED:
        notice(
            f"of the {len(prompt):,} symbols of the prompt the model reads the last {REMEMBERED:,}"
        )
    read, seed = prompt[-REMEMBERED:], request.sampling.seed
    codes, written, over = None, None, deque[npt.NDArray[np.bool_]]()
    of_codes = request.ending is not None and not request.ending.symbols
    if slow is not None:
        assert isinstance(codec, Quantiser)
        codes, written = slow.conditions(
            *(codec, read, request.streams, seed),
            choice=choice,
            strength=request.label_strength,
            ends=of_codes,
            like=None if request.like is None else request.like.codes,
            engine_of=wasm_engine if exact else None,
        )
        if of_codes:
            written = noting_ends(written, over)
    kinds, streams = 1, np.zeros(request.streams, np.int64)
    if choice is not None:
        kinds, streams = len(choice.weights), choice.of_streams(strength)
    told = Told(kinds, streams, codes, written)
    state = begin or (model.zero_state(1), codec.start)
    score = engine.score if engine.reads else partial(score_by_network, model, size)
    logits, after = feed_prompt(score, state, read, told)
    if isinstance(engine, TorchEngine):
        logits = engine.guided(logits)
    conditions = None if choice is None and slow is None else told.of_new
    sampling = request.sampling
    blocks = generate_blocks(engine, logits, after, request.length, sampling, conditions=conditions)
    if of_codes:
        blocks = cut_at(blocks, over.popleft)
    elif request.ending is not None:
        blocks = cut(blocks, request.ending, request.streams)
    if not isinstance(codec, Quantiser):
        return blocks
    if request.like is not None:  # it has the rests of what it follows, which are no faults
        return levelled(blocks, codec, request.like.decibels)
    return sound_faults.report(blocks, codec, prompt, notice, recording)


def engine_for(
    model: CharRNN,
    size: int,
    request: Request,
    choice: Choice | None,
    notice: Callable[[str], None],
    *,
    slow: SlowTier | None = None,
) -> Engine:
    """A new engine, told the labels of a choice; arguments and errors as of `continue_prompt`."""
    weights = None if choice is None else choice.weights
    if request.engine == "wasm":
        check_engine(model.config, size, request, model.head.weight.device)
        return wasm_engine(model, size, weights)
    told = model if weights is None else model.with_labels(weights)
    if request.label_strength != 1 and slow is None:
        return TorchEngine(told, size, request.label_strength)
    return choose_engine(told, size, request, notice)


@dataclass(frozen=True)
class Told:
    """What a model is told: a code times `kinds` plus the number of a choice of labels.

    kinds: how many choices there are.
    streams: which of them each stream has, (S,).
    codes: of the prompt (N,), if there are any.
    written: given a place and a count, those of so many new symbols from there on, (N, S).
    """

    kinds: int
    streams: Integers
    codes: Symbols | None = None
    written: Callable[[int, int], Integers] | None = None

    def of_prompt(self, kind: int, length: int) -> Integers:
        """What is told of a prompt of so many symbols, with a choice of labels, (N,)."""
        codes = np.zeros(length, np.int64) if self.codes is None else self.codes.astype(np.int64)
        return codes * self.kinds + kind

    def of_new(self, place: int, count: int) -> Integers:
        """What is told of so many new symbols from a place on, (N, S)."""
        if self.written is None:
            return np.tile(self.streams, (count, 1))
        return self.written(place, count) * self.kinds + self.streams


def feed_prompt(
    score: Scoring, begin: tuple[State, int], prompt: Symbols, told: Told
) -> tuple[Floats, State]:
    """Feed a first symbol and a prompt (N,): logits (S, V) of what follows, and state.

    `begin` is the state before the first symbol, and that symbol; `score` is as `Engine.score`.
    """
    state, first = begin
    states = [state] * told.kinds
    fed = np.concatenate([[first], prompt]).astype(np.int64)[:, None]
    for kind in np.unique(told.streams).tolist():
        known = told.of_prompt(kind, len(prompt))[:, None]
        for place in range(0, len(prompt), _BLOCK):
            rows = slice(place, min(place + _BLOCK, len(prompt)))
            _, states[kind] = score(fed[rows], states[kind], known[rows])
    parts = zip(*states, strict=True)
    spread = State(*(torch.cat(own, 1)[:, torch.from_numpy(told.streams)] for own in parts))
    logits, after = score(np.repeat(fed[-1:], len(told.streams), 1), spread, told.of_new(0, 1))
    return logits[0], after


@torch.inference_mode()
def score_by_network(
    model: CharRNN, size: int, symbols: Integers, state: State, conditions: Integers
) -> tuple[Floats, State]:
    """What `Engine.score` does, but for the prepared weights; `size` is the codec's V."""
    device = model.head.weight.device
    rows = None if model.conditions is None else torch.from_numpy(conditions).to(device)
    fed = torch.from_numpy(symbols).to(device)
    logits, after = model(fed, state, conditions=Conditions(codes=rows))
    return logits[..., :size].float().cpu().numpy(), after


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
