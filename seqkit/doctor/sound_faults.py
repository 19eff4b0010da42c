"""What is wrong with recordings, in a line each: told by `doctor`, and before every training."""

from collections.abc import Iterator

import numpy as np

from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus
from seqkit.doctor.fault import Fault
from seqkit.doctor.levels import Levels, decibels
from seqkit.foundation.wording import duration

LEAST = 10.0
"""Seconds of sound from which a model makes anything like it."""
_QUIET = 0.03  # of full scale: the 256 levels of mu-law come to 95 within it
_SILENCE = 0.5
_OFFSET = 0.05  # of the swing
_CLIPPED = 0.001
_BLOCK = 1 << 16  # samples read at a time
_MOST = 1 << 24  # samples that are read before a training, which takes a third of a second


def of_corpus(corpus: Corpus) -> list[str]:
    """The faults of the sound as a model will hear it; none of text."""
    codec = corpus.codec
    if codec.kind != "audio":
        return []
    levels = heard(corpus, codec)
    found = of_levels(levels, len(corpus.whole) / codec.symbol_rate, codec.gain)
    return [*map(str, found)]


def heard(corpus: Corpus, codec: Quantiser) -> Levels:
    """The levels before the gain, without what the quantiser adds to an offset.

    Of more than 16.8 million symbols some blocks are read that lie evenly among them.
    """
    levels, symbols = Levels(), corpus.whole.symbols
    step = _BLOCK * max(1, -(-len(symbols) // _MOST))
    for begin in range(0, len(symbols), step):
        wave = codec.decode(symbols[begin : begin + _BLOCK]) - np.float32(codec.silence)
        levels.add(wave, codec.sample_rate)
    return levels


def of_levels(
    levels: Levels, seconds: float, gain: float = 1.0, clipped: float = 0.0
) -> Iterator[Fault]:
    """The faults, the worst first.

    Args:
        levels: of the sound.
        seconds: how long it is.
        gain: what the quantiser multiplies it by.
        clipped: the share of samples at full scale beside another one there.
    """
    if levels.swing == 0:
        yield Fault(
            f"the sound is a constant, {levels.offset:.3g}: there is nothing to learn from it"
        )
        return
    if seconds < LEAST:
        yield Fault(
            f"the sound is short, {seconds:.1f} s: {LEAST:g} s is the least that makes anything "
            "like it, and a minute is better"
        )
    if levels.swing * gain < _QUIET:
        yield Fault(
            f"the sound is quiet, {decibels(levels.swing * gain):.0f} dB of full scale, where the "
            "quantiser has few levels: give data.gain=peak",
            {"gain": "peak"},
        )
    if levels.silence > _SILENCE:
        yield Fault(
            f"{levels.silence:.0%} of the sound is silence, which the model will make, too: "
            f"cut it out; {duration(seconds * (1 - levels.silence))} are left"
        )
    if abs(levels.offset) > _OFFSET * levels.swing:
        yield Fault(
            f"the sound has a constant offset (DC) of {levels.offset:.3g}, beside a swing of "
            f"{levels.swing:.3g}: a high-pass filter at 20 Hz takes it out"
        )
    if clipped > _CLIPPED:
        yield Fault(
            f"{clipped:.1%} of the samples are clipped: record it again at a lower level, or the "
            "model learns the distortion, too"
        )
