"""A model continues a prompt."""

from collections import deque
from collections.abc import Callable

import numpy as np
import torch

from seqkit.data.codecs import Codec, Quantiser
from seqkit.evaluation import scoring
from seqkit.evaluation.recording import Recording
from seqkit.generation import sound_faults
from seqkit.generation.ending import cut
from seqkit.generation.engine import Blocks, Engine, generate_blocks
from seqkit.generation.engines.choose import choose_engine
from seqkit.generation.request import Request, require_streams
from seqkit.generation.slow_tier import SlowTier
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.symbols import Floats, Integers, Symbols

REMEMBERED = 100_000
"""Symbols of a prompt that are read, the last ones: far more than a state remembers."""


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
) -> Blocks:
    """The new symbols, in blocks (N, S); sound is watched, and compared with a `recording`.

    After the ending of a stream that has one stands `ending.ENDED`.

    Of a prompt of more than `REMEMBERED` symbols only the last ones are read, which `notice` is
    told.

    `begin` is a state, (L, 1, H), and the symbol that is fed first: by default zeros and the
    codec's start symbol. `slow` writes what the model is told of sound. `engine` is one that
    nothing else uses meanwhile; by default a new one.

    What can fail (an engine that cannot run, memory) fails here, before the first block.

    Raises:
        ConfigError, DeviceError: the engine that was asked for cannot run, or not so many streams.
    """

    require_streams(model.config, request.streams, model.head.weight.device)
    size = request.size(codec)
    engine = engine or choose_engine(model, size, request, notice)
    if len(prompt) > REMEMBERED:
        notice(
            f"of the {len(prompt):,} symbols of the prompt the model reads the last {REMEMBERED:,}"
        )
    read, streams = prompt[-REMEMBERED:], request.streams
    told, conditions = None, None
    if slow is not None:
        assert isinstance(codec, Quantiser)
        told, conditions = slow.conditions(codec, read, streams, request.sampling.seed)
    state = begin or (model.zero_state(1), codec.start)
    fed = feed_prompt(*(model, size, state, read, streams), told=told, conditions=conditions)
    blocks = generate_blocks(engine, *fed, request.length, request.sampling, conditions=conditions)
    if request.ending is not None:
        blocks = cut(blocks, request.ending, streams)
    if not isinstance(codec, Quantiser):
        return blocks
    return sound_faults.report(blocks, codec, prompt, notice, recording)


def feed_prompt(
    model: CharRNN,
    size: int,
    begin: tuple[State, int],
    prompt: Symbols,
    streams: int,
    *,
    told: Symbols | None = None,
    conditions: Callable[[int, int], Integers] | None = None,
) -> tuple[Floats, State]:
    """Feed a first symbol and a prompt (N,): logits (S, V) of what follows, and state.

    `begin` is the state before the first symbol, and that symbol. `size` is the codec's V, or
    `Request.size`; logits that the model has beyond it are left out. The model is `told` something
    of the prompt (N,), and by `conditions` of what follows.
    """
    state, last = begin
    if len(prompt):
        row = scoring.row(model, prompt.astype(np.int64), start=last, state=state, conditions=told)
        [chunk] = deque(row, maxlen=1)
        state, last = chunk.trace.after, int(prompt[-1])
    spread = State(*(values.repeat(1, streams, 1) for values in state))
    device = model.head.weight.device
    fed = torch.full((1, streams), last, device=device)
    row_told = None if conditions is None else torch.from_numpy(conditions(0, 1)).to(device)
    with torch.inference_mode():
        logits, after = model(fed, spread, conditions=row_told)
    return logits[0, :, :size].float().cpu().numpy(), after
