"""Copies of a recording in other keys, so that a voice may sing notes that the recording lacks.

As a sampler plays its one sample of a note, a copy is played faster or slower by some semitones. It
swells and fades at random, too: what is told of its loudness is heard for every note.
"""

import dataclasses
from fractions import Fraction

import numpy as np

from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.data.sound.resample import Resampler

# The first few of them are spread evenly, too.
_SEMITONES = (0, 6, -6, 3, -3, 5, -5, 2, -2, 4, -4, 1, -1)
_SECONDS, _LEAST = 600, 4  # of all copies together, and how many there are however long they are
_LARGEST = 64  # of a ratio's denominator: within 3 cents
_FADE, _KNOT = 24.0, 0.4  # decibels at most, and seconds from one level to the next
_STREAM = 2  # of draws


def with_copies(part: Part, codec: Quantiser, seed: int) -> Part:
    """The part, and copies of its documents in other keys behind it."""
    frames, draw = codec.frames(part.symbols[:]), np.random.default_rng([seed, _STREAM])
    symbols, starts = [part.symbols[:]], [part.starts]
    count = max(_LEAST, int(_SECONDS * codec.sample_rate / len(frames)))
    for semitones in _SEMITONES[:count]:
        ratio = Fraction(2 ** (semitones / 12)).limit_denominator(_LARGEST)
        moved = Resampler(*ratio.as_integer_ratio(), codec.channels).convert(frames, last=True)
        places = np.arange(len(moved)) / (_KNOT * codec.sample_rate)
        knots = draw.uniform(-_FADE, 0, int(places[-1]) + 2)
        decibels = np.interp(places, np.arange(len(knots)), knots)
        begins = np.asarray(part.starts // codec.phases / float(ratio), np.int64) * codec.phases
        starts.append(sum(map(len, symbols)) + begins)
        symbols.append(codec.encode(moved * (10 ** (decibels[:, None] / 20)).astype(np.float32)))
    return dataclasses.replace(
        part,
        symbols=np.concatenate(symbols),
        starts=np.concatenate(starts),
        labels=None if part.labels is None else np.tile(part.labels, len(symbols)),
    )
