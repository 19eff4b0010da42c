"""Whether sound is a copy of a recording: by fingerprints, of which no sound can be made again.

They are Haitsma and Kalker's ("A highly robust audio fingerprinting system", 2002), at 8 kHz: of
each frame (2048 samples under a Hann window, 128 apart) 32 bits say in which of 33 bands from 300
to 2000 Hz the power falls off more steeply towards the next one than in the frame before. Fewer
than 0.3 of the bits differ in a copy. With white noise 10 dB below the sound 0.23 do, between two
sounds of one kind 0.37 to 0.5.
"""

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.resample import resample
from seqkit.evaluation.likeness import RATE
from seqkit.symbols import Integers, Symbols

_SIZE, _HOP = 2048, 128
_EDGES = np.round(np.geomspace(300, 2000, 34) / RATE * _SIZE).astype(np.int64)
_TOGETHER = 1024  # frames that are computed at a time
_HISS = 1e-3  # of the loudest sample: added, so that no silence is like another one
_MOST, _HEARD = 1200, 60  # seconds of a recording and of a sample, from their beginnings
_SPAN, _EVERY, _STEP = 96, 4, 24  # frames of a stretch, between those compared, between stretches
SHORTEST = (_SPAN * _HOP + _SIZE) / RATE
"""Seconds of the shortest copy that is found."""
_DIFFERENT = 0.3
Prints = npt.NDArray[np.uint32]


def prints(part: Part, codec: Quantiser, seconds: int = _MOST, seed: int = 0) -> Prints:
    """The fingerprints (n,) of a part; of silence those of hiss, drawn with a seed."""
    rate = codec.sample_rate
    wave = resample(SoundPart(part, codec)[: seconds * rate], rate, RATE)
    if len(wave) < _SIZE + _HOP:
        return np.zeros(0, np.uint32)
    hiss = np.random.default_rng(seed).standard_normal(len(wave), np.float32)
    wave = wave + _HISS * max(wave.max(), -wave.min()) * hiss
    frames, powers = np.lib.stride_tricks.sliding_window_view(wave, _SIZE)[::_HOP], []
    for first in range(0, len(frames), _TOGETHER):
        spectrum = np.fft.rfft(frames[first : first + _TOGETHER] * np.hanning(_SIZE))
        power = np.square(np.abs(spectrum[:, : _EDGES[-1]]))
        powers.append(np.add.reduceat(power, _EDGES[:-1], axis=1))
    steeper = np.diff(np.diff(np.concatenate(powers), axis=1), axis=0) < 0
    return np.packbits(steeper, axis=1).view(np.uint32)[:, 0]


def places(known: Prints, symbols: Symbols, codec: Quantiser) -> Integers:
    """Where each symbol (N,) of a sample stands in a recording, -1: nowhere."""
    found = np.full(len(symbols), -1)
    sample = prints(Part(symbols, np.zeros(1, np.int64), frame=codec.phases), codec, _HEARD, seed=1)
    each, offsets = _HOP * codec.symbol_rate / RATE, len(known) - _SPAN + 1
    for begin in range(0, len(sample) - _SPAN + 1, _STEP) if offsets > 0 else ():
        different = np.zeros(offsets, np.int32)
        for frame in range(0, _SPAN, _EVERY):
            different += np.bitwise_count(known[frame : frame + offsets] ^ sample[begin + frame])
        best = int(different.argmin())
        if different[best] < _DIFFERENT * 32 * _SPAN / _EVERY:
            first = round(begin * each)
            copy = found[first : first + round(SHORTEST * codec.symbol_rate)]
            copy[:] = round(best * each) + np.arange(len(copy))
    return found
