"""Where reading and generating go on from, as scripts have it."""

from typing import NamedTuple

import numpy as np

from seqkit.config import ModelConfig
from seqkit.data.codecs import Codec
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_type
from seqkit.model.state import State, zero_state
from seqkit.symbols import Floats


class ModelState(NamedTuple):
    """What a model has read: hidden and cell values (L, H), and the symbol that it sees next.

    `frame` (n,) are those since the last step, of a model whose steps make P symbols: n is below P.
    """

    h: Floats
    c: Floats
    symbol: int
    frame: Floats = np.zeros(0, np.float32)


def beginning(state: ModelState | None, config: ModelConfig, codec: Codec) -> ModelState:
    """A given state, checked; else zeros and the codec's start symbol."""
    whole, places = (config.num_layers, config.hidden_size), config.frame
    if state is None:
        return kept(zero_state(config, 1), codec.start)
    check_type("state", state, ModelState)
    frame = "frame", "(n,)", (min(np.size(state.frame), places - 1),)
    for name, letters, shape in (*((n, "(L, H)", whole) for n in "hc"), frame):
        if (actual := np.shape(getattr(state, name))) != shape:
            raise ConfigError(
                f"state.{name}: expected {letters} = {shape}, got {actual}: it is another model's"
            )
    if not 0 <= state.symbol < codec.size:
        raise ConfigError(
            f"state.symbol={state.symbol}: this model has {codec.size} symbols, from 0: "
            "it is another model's"
        )
    parts = (state.h, state.c, state.frame)
    h, c, known = (np.array(values, dtype=np.float32, order="C") for values in parts)
    return ModelState(h, c, int(state.symbol), known)


def kept(state: State, symbol: int) -> ModelState:
    """A state of one stream, (L, 1, H), and the symbol that is fed next, as scripts have them."""
    h, c, frame = (part[:, 0] for part in state.arrays())
    return ModelState(h, c, symbol, frame[0])


def carried(state: ModelState) -> tuple[State, int]:
    """A state as engines take it, (L, 1, H), and the symbol that is fed next."""
    parts = (state.h, state.c, state.frame[None])
    return State(*(np.asarray(part, np.float32)[:, None] for part in parts)), state.symbol
