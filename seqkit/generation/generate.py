"""A model continues a prompt: what becomes of a request, from top to bottom.

Sound that was drawn becomes loops, or the best of takes, and is judged beside its recording. Of
many streams the first 16 are judged, and of each the first minute. Models with labels keep nothing
of their recording, nor do models of one that is silent or too short, and nothing is said of theirs.
Takes are streams that are made side by side: the best one is kept, as `Recording.place` says.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from seqkit.data.codecs import Codec, SoundCodec, Spectral
from seqkit.data.labels import Labels
from seqkit.evaluation.hearing import LOW, SHORTEST
from seqkit.evaluation.recording import Recording
from seqkit.foundation.console import Notice
from seqkit.foundation.errors import ConfigError
from seqkit.generation import sampler
from seqkit.generation.engines import choose_engine
from seqkit.generation.labelled import choice_of
from seqkit.generation.sampler import ENDED, Blocks, Engine, Request, guided, streams_of
from seqkit.model.arrays import Network, NetworkArrays
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, Symbols, symbol_dtype

REMEMBERED = 100_000
"""Symbols of a prompt that are read, the last ones: far more than a state remembers."""
Scoring = Callable[[Integers, State, Integers], tuple[Floats, State]]
_BLOCK = 512  # symbols of a prompt that are read at a time
CHOICE, SHORTEST_LOOP = 2.0, 0.2
"""Seconds that are made beyond a loop, from which its beginning is chosen; and that it lasts."""
_JUDGED, _STREAMS = 60, 16  # seconds from the beginning, and streams from the first
_SHORTER = 0.05  # seconds, and at most a tenth, that a loop may be shorter than asked
_SEEN = 3  # frames on each side of a seam that are compared


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
    notice: Notice,
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
        notice: is told what is drawn, labels and a seed, and in the end what is heard.
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
    blocks = sampler.sample_blocks(engine, logits, after, request.length, sampling, labels=labels)
    if request.ending is not None:
        blocks = sampler.cut(blocks, request.ending, request.streams)
    if request.seed_is_drawn and request.sampling.temperature > 0:  # else nothing is drawn
        notice(f"seed={request.sampling.seed}")
    blocks = watch(blocks)
    if request.extra and isinstance(codec, Spectral):
        blocks = looped(blocks, codec, request.length - request.extra)
    if trained.recording is not None and codec.kind == "audio":
        heard = best if request.takes > 1 else judged
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
    trained: Trained, request: Request, labels: Floats | None, notice: Notice
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


def judged(blocks: Blocks, codec: SoundCodec, recording: Recording, notice: Notice) -> Blocks:
    """Hand on every block (N, S) at once, and judge each stream, as it is heard, in the end.

    `notice` is told what is found, even if no more blocks are taken.
    """
    known, left = list[Integers](), _JUDGED * codec.symbol_rate
    try:
        for block in blocks:
            yield block
            if left > 0:
                known.append(block[:, :_STREAMS])
                left -= len(block)
    finally:
        for stream, symbols in enumerate(streams_of(known, codec)):
            judgement = recording.judged(codec.decode(symbols), codec.sample_rate)
            notice(f"stream {stream + 1} {judgement.words}")


def check_takes(takes: int, length: int, codec: Codec, recording: Recording | None) -> None:
    """Refuse takes that cannot be made, or compared with what was learnt. Raises ConfigError."""
    if takes == 1:
        return
    fault = ""
    if codec.kind != "audio":
        fault = f"this model writes text: give streams={takes}"
    elif recording is None:
        fault = "this model keeps no recording to compare takes with (it learnt labels, or its "
        fault += f"recording is silent or too short): give streams={takes}, and choose by ear"
    elif length * LOW < SHORTEST * codec.symbol_rate:
        least = math.ceil(100 * SHORTEST / LOW) / 100
        fault = f"too short to compare with the recording: give at least seconds={least:g}"
    if fault:
        raise ConfigError(f"takes={takes}: {fault}")


def best(blocks: Blocks, codec: SoundCodec, recording: Recording, notice: Notice) -> Blocks:
    """Hand on the best (N, 1) of takes that come in blocks (N, S), once all of them are made.

    `notice` is told which one is best, and how far it is from the recording.
    """
    sounds = streams_of(blocks, codec)
    if not sounds:
        return
    said = [recording.judged(codec.decode(s), codec.sample_rate) for s in sounds]
    kept = min(range(len(sounds)), key=lambda take: recording.place(said[take]))
    notice(f"take {kept + 1} of {len(sounds)} {said[kept].words}")
    yield sounds[kept].astype(np.int64)[:, None]


def looped(blocks: Blocks, codec: Spectral, length: int) -> Blocks:
    """A loop of at most `length` symbols from each stream of blocks (N, S), as one block.

    More is made than is asked for, so that there is a choice of where the loop begins. Of all pairs
    of frames that lie as far apart as it lasts, or a little less, those are taken around which the
    sound differs the least to the ear: at rests, or where a note recurs. Where it is decoded, the
    end goes on into the beginning. The gains of that fade keep the level, however much the two are
    alike.
    """
    held = [block.astype(symbol_dtype(codec.size)) for block in blocks]
    if held:
        loops = [_loop(stream, codec, length // codec.phases) for stream in np.concatenate(held).T]
        rows = np.full((max(map(len, loops)), len(loops)), ENDED)
        for stream, loop in enumerate(loops):
            rows[: len(loop), stream] = loop
        yield rows


def _loop(symbols: Integers, codec: Spectral, size: int) -> Integers:
    """A loop of about `size` frames from symbols (N,); all whole ones if they are too few."""
    symbols = symbols[: len(symbols) // codec.phases * codec.phases]  # a signal may have ended them
    shorter = min(round(_SHORTER * codec.sample_rate / codec.hop), size // 10)
    rows, best = codec.rows(symbols), (np.inf, 0, len(symbols))
    for count in range(size - shorter, min(size, len(rows) - 2 * _SEEN) + 1):
        differing = np.square(rows[count:] - rows[: len(rows) - count]).sum(1)
        around = np.convolve(differing, np.ones(2 * _SEEN), "valid")
        if around.min() < best[0]:
            begin = int(around.argmin()) + _SEEN
            best = float(around.min()), begin, begin + count
    return symbols[best[1] * codec.phases : best[2] * codec.phases]
