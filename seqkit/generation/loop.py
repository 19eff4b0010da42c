"""Sound that is played round and round: its end meets its beginning.

More is made than is asked for, so that there is a choice of where the loop begins. Of all pairs of
places that lie as far apart as it lasts, or a little less, those are taken around which the sound
differs the least in power: at rests, or where a note recurs, in phase. There what follows the
second place fades into what follows the first, so that the last sample goes on as it was made. The
gains keep the level, however much the two are alike: with equal power if they are not.
"""

from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from seqkit.config import Config
from seqkit.data.codecs import Codec, Quantiser
from seqkit.foundation.errors import ConfigError
from seqkit.generation.ending import ENDED
from seqkit.generation.engine import Blocks
from seqkit.symbols import Integers, symbol_dtype

_CHOICE = 2.0  # seconds from which the beginning is chosen
_GRID = 0.01  # seconds between beginnings
_FADE = 0.05  # seconds
_SHORTER = 0.05  # seconds, and at most a tenth, that a loop may be shorter than asked


def extra(config: Config, codec: Codec, length: int) -> int:
    """Symbols that are made beyond a loop of `length`; 0 if none is asked for.

    Raises:
        ConfigError: what is asked for cannot be a loop.
    """
    if not config.loop:
        return 0
    if not isinstance(codec, Quantiser):
        raise ConfigError("loop=true: this model writes text, and only sound is looped")
    rate, more = codec.sample_rate, codec.symbols_of((_CHOICE + 2 * _FADE) * codec.sample_rate)
    begins_with_prompt = config.prompt_audio and config.include_prompt
    of_mp3 = Path(config.out or "").suffix.lower() == ".mp3"
    for is_there, fault in (
        (config.like or config.until, "it lasts as long as seconds says: leave like and until out"),
        (begins_with_prompt, "a prompt is no part of a loop: give include_prompt=false"),
        (
            config.sample.rate not in (0, rate),
            f"it has the model's {rate} Hz: leave sample.rate out",
        ),
        (of_mp3, "an MP3 has silence at its ends: give a .wav, .flac or .ogg"),
        (length < 4 * _FADE * codec.symbol_rate, f"too short: give seconds={4 * _FADE:g} or more"),
    ):
        if is_there:
            raise ConfigError(f"loop=true: {fault}")
    return more


def looped(blocks: Blocks, codec: Quantiser, length: int) -> Blocks:
    """A loop of at most `length` symbols from each stream of blocks (N, S), as one block."""
    held = [block.astype(symbol_dtype(codec.size)) for block in blocks]
    if held:
        loops = [_loop(stream, codec, length // codec.phases) for stream in np.concatenate(held).T]
        rows = np.full((max(map(len, loops)), len(loops)), ENDED)
        for stream, loop in enumerate(loops):
            rows[: len(loop), stream] = loop
        yield rows


def _loop(symbols: Integers, codec: Quantiser, size: int) -> Integers:
    """A loop of about `size` frames from symbols (N,); all of them if they are too few."""
    rate, phases = codec.sample_rate / codec.bands, codec.phases  # of frames
    fade, shorter = round(_FADE * rate), min(round(_SHORTER * rate), size // 10)
    seen = 2 * fade  # frames that are compared, half of them before the seam
    starts = np.arange(0, len(symbols) // phases - size - seen + 1, max(1, round(_GRID * rate)))
    if not len(starts):
        return symbols
    first = codec.frames(symbols[: (starts[-1] + seen) * phases]).reshape(-1, codec.columns)
    last = codec.frames(symbols[(size - shorter) * phases :]).reshape(-1, codec.columns)
    heads = sliding_window_view(first, seen, 0)[starts]  # (starts, columns, seen)
    tails = sliding_window_view(last, seen + shorter, 0)[starts]
    spectra = np.fft.rfft(tails) * np.fft.rfft(heads, tails.shape[-1]).conj()
    alike = np.fft.irfft(spectra, tails.shape[-1])[..., : shorter + 1].sum(1)
    sums = np.pad(np.square(tails).sum(1).cumsum(-1), ((0, 0), (1, 0)))
    power = sums[:, seen:] - sums[:, : shorter + 1]
    differing = np.square(heads).sum((1, 2))[:, None] + power - 2 * alike  # (starts, shorter + 1)
    best, later = np.unravel_index(differing.argmin(), differing.shape)
    # Faded as it is quantised, so that what is before the loop's first sample is its last one.
    begin, end = starts[best] + seen, starts[best] + fade + size - shorter + later
    head, tail = (
        codec.values_of(symbols[(at - fade) * phases : at * phases]) for at in (begin, end + fade)
    )
    like = (head * tail).sum() / max(np.sqrt(np.square(head).sum() * np.square(tail).sum()), 1e-9)
    angle = (np.arange(fade)[:, None] + 0.5) / fade * np.pi / 2
    mixed = np.sin(angle) * head + np.cos(angle) * tail
    mixed /= np.sqrt(1 + max(like, 0) * np.sin(2 * angle))
    rest = symbols[begin * phases : end * phases]
    return np.concatenate([codec.quantised(mixed.astype(np.float32)), rest])
