"""A model continues a prompt."""

import dataclasses
from collections.abc import Callable

import numpy as np
import torch

from seqkit.data.codecs import Codec
from seqkit.generation import watch
from seqkit.generation.engine import Blocks, generate_blocks
from seqkit.generation.engines.choose import choose_engine
from seqkit.generation.medium import medium_of
from seqkit.generation.request import Request
from seqkit.generation.sampling import Floats
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.symbols import Integers, Symbols, symbol_dtype

__all__ = ["Request", "continue_prompt", "feed_prompt"]

_BLOCK = 1024  # symbols of the prompt that are read at a time


def continue_prompt(
    model: CharRNN,
    codec: Codec,
    prompt: Symbols,
    request: Request,
    notice: Callable[[str], None],
) -> Blocks:
    """The new symbols, in blocks (N, S); sound is watched.

    What can fail (an engine that cannot run, memory) fails here, before the first block.

    Raises:
        ConfigError, DeviceError: the engine that was asked for cannot run.
    """

    def redraw(heard: Integers, stream: int, attempt: int) -> Blocks:
        seed = watch.seed_of(request.sampling.seed, stream, attempt)
        sampling = dataclasses.replace(request.sampling, seed=seed)
        alone = dataclasses.replace(request, streams=1, sampling=sampling)
        # The engine's notices were given the first time.
        return _draw(model, codec, heard.astype(symbol_dtype(codec.size)), alone, lambda text: None)

    blocks = _draw(model, codec, prompt, request, notice)
    return medium_of(codec).watch(blocks, redraw, prompt, request.retry, notice)


def _draw(
    model: CharRNN,
    codec: Codec,
    prompt: Symbols,
    request: Request,
    notice: Callable[[str], None],
) -> Blocks:
    engine = choose_engine(model, codec.size, request, notice)
    logits, state = feed_prompt(model, codec.size, codec.start, prompt, request.streams)
    return generate_blocks(engine, logits, state, request.length, request.sampling)


@torch.inference_mode()
def feed_prompt(
    model: CharRNN, size: int, start: int, prompt: Symbols, streams: int
) -> tuple[Floats, State]:
    """Feed the start symbol and a prompt (N,): logits (S, V) of what follows, and state.

    `size` is the codec's V; logits that the model has beyond it are left out.
    """
    state = model.zero_state(1)
    symbols = np.concatenate([[start], prompt]).astype(np.int64)
    with torch.backends.cudnn.flags(allow_tf32=False):
        for first in range(0, len(symbols), _BLOCK):
            fed = torch.from_numpy(symbols[first : first + _BLOCK, None])
            logits, state = model(fed.to(model.head.weight.device), state)
    spread = State(*(values.repeat(1, streams, 1) for values in state))
    return logits[-1, :, :size].float().repeat(streams, 1).cpu().numpy(), spread
