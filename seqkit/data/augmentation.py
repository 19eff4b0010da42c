"""Copies of a training part of sound, changed a little: much to learn from little.

A network that hears half a minute again and again learns it by heart. Every copy is the whole part
at another pitch (resampled, so that it is faster or slower, too), quieter, and every other one with
the opposite polarity. Most copies differ little, and a few much: a model that has heard every
pitch equally often makes all of them, not the recording's. What is drawn for a copy depends on the
seed and its number only.
"""

from collections.abc import Iterator

import numpy as np

from seqkit.config import DataConfig
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.data.sound import Frames
from seqkit.data.sound.resample import resampled
from seqkit.foundation import machine
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.randomness import uniforms

_ENOUGH = 1200  # seconds of sound that the copies together have by themselves
_MOST = 64  # copies that are made by themselves
_STEPS = 250  # ratios of pitch are whole steps of 0.4 %
_STREAM = (1 << 32) + 1  # of draws; no sample has it, nor have the lanes
_BLOCK = 1 << 18  # symbols that are read at a time, whole frames


def count(config: DataConfig, seconds: float) -> int:
    """How many copies `data.copies` asks for of so many seconds of sound."""
    if config.copies is not None:
        return config.copies
    return min(round(_ENOUGH / max(seconds, 1e-9)), _MOST)


def with_copies(
    part: Part,
    codec: Quantiser,
    config: DataConfig,
    copies: int,
    seed: int,
    progress: Progress = unseen,
) -> Part:
    """The part, and so many copies of it behind it as documents of their own.

    Args:
        part: of sound.
        codec: of its symbols.
        config: how far copies differ.
        copies: how many.
        seed: of what is drawn.
        progress: shows how far they are.

    Raises:
        DeviceError: the memory does not suffice.
    """
    if not copies:
        return part
    drawn = [_drawn(config, number, copies, seed) for number in range(copies)]
    frame = part.frame
    # Rounded up: see `Resampler`.
    sizes = [-(-len(part) // frame * _STEPS // pitch) * frame for pitch, _ in drawn]
    ends = np.cumsum([len(part), *sizes])
    free = machine.free_bytes(machine.HOST)
    needed = int(ends[-1]) * part.symbols.itemsize
    machine.require(needed, free, f"data.copies={copies}", str)
    symbols, starts = np.empty(ends[-1], part.symbols.dtype), [part.starts]
    symbols[: len(part)] = part.symbols
    with progress("copies", copies) as bar:
        for number, (pitch, factor) in enumerate(drawn):
            done = begin = ends[number]
            for frames in resampled(_blocks(part, codec), pitch, _STEPS, codec.channels):
                encoded = codec.encode(frames * np.float32(factor))
                symbols[done : done + len(encoded)] = encoded
                done += len(encoded)
            begins = np.unique(-(-part.starts // frame * _STEPS // pitch)) * frame
            starts.append(begin + begins[begins < sizes[number]])
            bar.update(number + 1)
    return Part(symbols, np.concatenate(starts), frame=frame)


def _drawn(config: DataConfig, number: int, copies: int, seed: int) -> tuple[int, float]:
    """The pitch of a copy in steps, and what its samples are multiplied by."""
    place, quiet = uniforms(seed, _STREAM, 2 * number, 2)
    # Spread over the range, so that few copies do not happen to have the same pitch.
    semitones = config.copy_pitch * (2 * (number + place) / copies - 1) ** 5
    decibels = -config.copy_gain * quiet**3
    polarity = -1 if config.copy_polarity and number % 2 == 0 else 1
    return round(_STEPS * 2 ** (semitones / 12)), polarity * 10 ** (decibels / 20)


def _blocks(part: Part, codec: Quantiser) -> Iterator[Frames]:
    for begin in range(0, len(part), _BLOCK):
        yield codec.frames(part.symbols[begin : begin + _BLOCK])
