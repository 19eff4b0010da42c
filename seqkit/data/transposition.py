"""Copies of a recording in other keys, so that a voice may sing notes that the recording lacks.

As a sampler plays its one sample of a note, a copy is played faster or slower by some semitones. It
has rests at random, too: a voice that is given a note after silence has to begin.
"""

import dataclasses
import math
from fractions import Fraction

import numpy as np

from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.resample import resampled

# The first few of them are spread evenly, too.
_SEMITONES = (6, -6, 3, -3, 9, -9, 5, -5, 2, -2, 8, -8, 4, -4, 1, -1, 7, -7)
_SECONDS, _LEAST = 600, 4  # of all copies together, and how many there are however long they are
_LARGEST = 64  # of a ratio's denominator: within 3 cents
_REST, _RESTS, _RAMP = 0.4, 0.2, 0.02  # seconds of a rest, their share, and seconds of a fade
_STREAM = 2  # of draws
_AT_ONCE = 1 << 20  # samples


def with_copies(sound: SoundPart, seed: int) -> SoundPart:
    """The part, and copies of its documents in other keys behind it."""
    part, codec = sound.part, sound.codec
    draw = np.random.default_rng([seed, _STREAM])
    rest, ramp = (round(seconds * codec.sample_rate) for seconds in (_REST, _RAMP))
    symbols, starts = [part.symbols[:]], [part.starts]
    count = max(_LEAST, int(_SECONDS * codec.sample_rate / len(sound)))
    for semitones in _SEMITONES[:count]:
        ratio = Fraction(2 ** (semitones / 12)).limit_denominator(_LARGEST)
        begins = np.asarray(part.starts // codec.phases / float(ratio), np.int64) * codec.phases
        starts.append(sum(map(len, symbols)) + begins)
        length = math.ceil(len(sound) / ratio)
        heard = draw.random((length + -length % codec.bands) // rest + 1) >= _RESTS
        done, rates, encode = 0, ratio.as_integer_ratio(), codec.encoder()
        blocks = resampled(sound.blocks(_AT_ONCE), *rates, codec.channels)
        for moved in codec.padded(blocks):
            places = np.arange(done - ramp, done + len(moved))
            sums = np.cumsum(heard[places.clip(0) // rest] & (places >= 0))
            faded = (sums[ramp:] - sums[:-ramp])[:, None] / np.float32(ramp)
            symbols.append(encode(moved * faded.astype(np.float32)))
            done += len(moved)
    both = dataclasses.replace(
        part,
        symbols=np.concatenate(symbols),
        starts=np.concatenate(starts),
        labels=None if part.labels is None else np.tile(part.labels, (len(starts), 1)),
    )
    return SoundPart(both, codec)
