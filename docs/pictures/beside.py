"""Draws a recording above what a model made of it: the pictures in docs/measured/sound.md.

    python docs/pictures/beside.py recording.flac@20 take_0.wav take_1.wav take_2.wav beside.png

shows ten seconds of each, mixed to mono, up to 16 kHz; `@20` begins at 20 seconds. Black is 80 dB
below the loudest of all.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from numpy.lib.stride_tricks import sliding_window_view

from seqkit.data.sound import hann, reader
from seqkit.foundation.errors import SeqkitError
from seqkit.symbols import Floats

_SECONDS, _HIGHEST = 10, 16_000
_WIDTH, _HEIGHT = 800, 112  # pixels of a sound
_DECIBELS, _COLOURS = 80, 16
_LEFT, _BELOW, _GAP = 50, 20, 20  # pixels


def draw(sounds: list[str], out: Path) -> None:
    """Write the picture. Raises BadFileError, OSError."""
    names = ["recording", *(f"take {take}" for take in range(1, len(sounds)))]
    spectra = [_spectra(sound) for sound in sounds]
    top = max(float(np.quantile(one, 0.9995)) for one in spectra)
    width, height = _LEFT + _WIDTH + 10, _BELOW + (_HEIGHT + _GAP) * len(sounds)
    figure = Figure(figsize=(width / 100, height / 100), dpi=100)
    for place, (name, one) in enumerate(zip(names, spectra, strict=True)):
        bottom = height - (_HEIGHT + _GAP) * (place + 1)
        box = (_LEFT / width, bottom / height, _WIDTH / width, _HEIGHT / height)
        axes = figure.add_axes(box)
        axes.imshow(
            one,
            origin="lower",
            aspect="auto",
            interpolation="nearest",
            extent=(0, _SECONDS, 0, _HIGHEST / 1000),
            vmin=top - _DECIBELS,
            vmax=top,
            cmap=colormaps["magma"].resampled(_COLOURS),
        )
        axes.set_title(name, fontsize=8, loc="left", pad=3)
        axes.set_yticks([0, 4, 8, 12, 16], ["0", "4", "8", "12", "16 kHz"], fontsize=7)
        seconds = [f"{second} s" for second in range(0, _SECONDS + 1, 2)]
        axes.set_xticks(range(0, _SECONDS + 1, 2), seconds if place == len(sounds) - 1 else [])
        axes.tick_params(labelsize=7, length=2, pad=2)
    figure.savefig(out)


def _spectra(sound: str) -> Floats:
    """Decibels (height, width) of ten seconds of a file, or of a file from `@` so many seconds."""
    name, _, begin = sound.partition("@")
    wave, rate = reader.read_whole(Path(name))
    wave = wave[round(float(begin or 0) * rate) :][: _SECONDS * rate]
    size = 1 << round(np.log2(0.046 * rate))
    padded = np.pad(wave, (size // 2, size // 2 + _SECONDS * rate - len(wave)))
    at = np.linspace(0, _SECONDS * rate - 1, _WIDTH).astype(int)
    power = np.square(np.abs(np.fft.rfft(sliding_window_view(padded, size)[at] * hann(size))))
    bins = np.linspace(0, _HIGHEST * size / rate, _HEIGHT + 1).astype(int)
    known = bins[:-1] <= size // 2
    rows = np.maximum.reduceat(power, bins[:-1][known], axis=1).T
    picture = np.full((_HEIGHT, _WIDTH), 1e-12, np.float32)
    picture[known] = rows + 1e-12
    return 10 * np.log10(picture)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("beside.py: give a recording, sounds and the name of a picture")
    try:
        draw(sys.argv[1:-1], Path(sys.argv[-1]))
    except SeqkitError as error:
        print(f"beside.py: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
