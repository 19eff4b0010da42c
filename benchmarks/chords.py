"""Half a minute of guitar-like chords, whose pitches are known: a recording to try my_sound on.

    python benchmarks/chords.py chords.wav

writes 16 kHz, mono: fifteen chords of two seconds, in the order of `CHORDS`, of plucked strings as
`seqkit.data.datasets.etude` makes them, strummed from the lowest string to the highest.
"""

import sys
from pathlib import Path

import numpy as np

from seqkit.data.datasets import etude
from seqkit.symbols import Floats

RATE = 16000
SECONDS = 2.0  # of a chord
CHORDS = ("Em", "C", "G", "D", "Am", "C", "G", "D", "Em", "Am", "C", "G", "Em", "D", "Em")
_FRETS = {
    "Em": (0, 2, 2, 0, 0, 0),
    "C": (None, 3, 2, 0, 1, 0),
    "G": (3, 2, 0, 0, 0, 3),
    "D": (None, None, 0, 2, 3, 2),
    "Am": (None, 0, 2, 2, 1, 0),
}
_OPEN = (82.41, 110.0, 146.83, 196.0, 246.94, 329.63)  # hertz of the open strings
_MELLOW = 500  # hertz above which a finger's pluck loses 12 dB an octave
_STRUM = 0.02  # seconds from a string to the next
_LEVEL = 0.8  # of the loudest sample
_HISS = 0.003  # amplitude of the noise that a recording has


def hertz(name: str) -> list[float]:
    """The frequencies of a chord's strings, from the lowest."""
    pairs = zip(_OPEN, _FRETS[name], strict=True)
    return [base * 2 ** (fret / 12) for base, fret in pairs if fret is not None]


def chord(name: str) -> Floats:
    """The wave (N,) of one chord, of SECONDS."""
    length = round(SECONDS * RATE)
    wave = np.zeros(length)
    for number, frequency in enumerate(hertz(name)):
        begin = round(number * _STRUM * RATE)
        wave[begin:] += etude.pluck(frequency, length - begin, RATE)
    return wave


def render() -> Floats:
    """All chords (N,), one after the other, with a little hiss."""
    wave = np.concatenate([chord(name) for name in CHORDS])
    frequencies = np.fft.rfftfreq(wave.size, 1 / RATE)
    wave = np.fft.irfft(np.fft.rfft(wave) / (1 + (frequencies / _MELLOW) ** 2), wave.size)
    hiss = np.random.default_rng(0).uniform(-1, 1, wave.size)
    loud: Floats = wave * (_LEVEL / np.abs(wave).max())
    return loud + _HISS * hiss


if __name__ == "__main__":
    etude.write(Path(sys.argv[1]), render(), RATE)
