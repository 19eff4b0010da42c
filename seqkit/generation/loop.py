"""Sound that is played round and round: its end meets its beginning.

More is made than is asked for, so that there is a choice of where the loop begins. Of all pairs of
frames that lie as far apart as it lasts, or a little less, those are taken around which the sound
differs the least to the ear: at rests, or where a note recurs. Where it is decoded, the end goes on
into the beginning. The gains of that fade keep the level, however much the two are alike.
"""

from pathlib import Path

import numpy as np

from seqkit.config import Config
from seqkit.data.codecs import Codec, Spectral
from seqkit.foundation.errors import ConfigError
from seqkit.generation.ending import ENDED
from seqkit.generation.engine import Blocks
from seqkit.symbols import Integers, symbol_dtype

_CHOICE = 2.0  # seconds from which the beginning is chosen
_SHORTEST = 0.2  # seconds
_SHORTER = 0.05  # seconds, and at most a tenth, that a loop may be shorter than asked
_SEEN = 3  # frames on each side of a seam that are compared


def extra(config: Config, codec: Codec, length: int) -> int:
    """Symbols that are made beyond a loop of `length`; 0 if none is asked for.

    Raises:
        ConfigError: what is asked for cannot be a loop.
    """
    if not config.loop:
        return 0
    if not isinstance(codec, Spectral):
        raise ConfigError("loop=true: only a model of data.codec=spectral, as my_sound's, loops")
    begins_with_prompt = config.prompt_audio and config.include_prompt
    of_mp3 = Path(config.out or "").suffix.lower() == ".mp3"
    for is_there, fault in (
        (config.until, "it lasts as long as seconds says: leave until out"),
        (begins_with_prompt, "a prompt is no part of a loop: give include_prompt=false"),
        (of_mp3, "an MP3 has silence at its ends: give a .wav, .flac or .ogg"),
        (length < _SHORTEST * codec.symbol_rate, f"too short: give seconds={_SHORTEST:g} or more"),
    ):
        if is_there:
            raise ConfigError(f"loop=true: {fault}")
    return codec.symbols_of(_CHOICE * codec.sample_rate)


def looped(blocks: Blocks, codec: Codec, length: int) -> Blocks:
    """A loop of at most `length` symbols from each stream of blocks (N, S), as one block."""
    assert isinstance(codec, Spectral)
    held = [block.astype(symbol_dtype(codec.size)) for block in blocks]
    if held:
        loops = [_loop(stream, codec, length // codec.phases) for stream in np.concatenate(held).T]
        rows = np.full((max(map(len, loops)), len(loops)), ENDED)
        for stream, loop in enumerate(loops):
            rows[: len(loop), stream] = loop
        yield rows


def _loop(symbols: Integers, codec: Spectral, size: int) -> Integers:
    """A loop of about `size` frames from symbols (N,); all of them if they are too few."""
    shorter = min(round(_SHORTER * codec.sample_rate / codec.hop), size // 10)
    rows, best = codec.rows(symbols), (np.inf, 0, len(symbols))
    for count in range(size - shorter, size + 1):
        differing = np.square(rows[count:] - rows[: len(rows) - count]).sum(1)
        around = np.convolve(differing, np.ones(2 * _SEEN), "valid")
        if len(around) and around.min() < best[0]:
            begin = int(around.argmin()) + _SEEN
            best = float(around.min()), begin, begin + count
    return symbols[best[1] * codec.phases : best[2] * codec.phases]
