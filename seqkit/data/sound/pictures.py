"""Pictures of sound: the waveform above its mel spectrogram, and what they are drawn from."""

import io
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from seqkit.data.sound import Wave, hann
from seqkit.data.sound.reader import read_whole
from seqkit.foundation import disk
from seqkit.foundation.wording import visible_line
from seqkit.symbols import Floats

_DECIBELS = 70  # between the brightest colour and the darkest
_POINTS = 4000  # of a waveform
_BANDS = 256  # of a spectrogram, at most
_PADDING = 2  # times a frame's length: the lowest bands are narrower than the bins would be


def draw_file(file: Path) -> Path:
    """The picture of a file of sound, a PNG beside it. Raises BadFileError, OutputError."""
    wave, sample_rate = read_whole(file)
    picture = file.with_suffix(".png")
    draw(picture, {file.name: wave}, sample_rate)
    return picture


def draw(path: Path, waves: Mapping[str, Wave], sample_rate: int) -> None:
    """Write a PNG with a column for each wave (N,), headed by its name, all to the same scale.

    Raises:
        OutputError: the file cannot be written.
    """
    # matplotlib is slow to import, and few commands draw.
    from matplotlib.figure import Figure

    width = 6.4 * len(waves)
    figure = Figure(figsize=(width, 4.8), dpi=64)
    # Set by hand: to find a layout takes as long as to draw it. The colours stand at the right.
    left, right = 0.9 / width, 1 - 1.1 / width
    figure.subplots_adjust(left, 0.1, right, 0.93, wspace=0.08, hspace=0.08)
    axes = figure.subplots(
        2, len(waves), squeeze=False, sharex="col", sharey="row", height_ratios=(1, 2)
    )
    spectrograms = [log_mel(wave, sample_rate) for wave in waves.values()]
    top = max(float(values.max()) for values in spectrograms)
    for column, (name, wave) in enumerate(waves.items()):
        seconds = wave.size / sample_rate
        above, below = axes[0][column], axes[1][column]
        above.set_title(visible_line(name))
        low, high = envelope(wave, _POINTS)
        times = np.linspace(0, seconds, len(low), endpoint=False)
        above.fill_between(times, low, high, linewidth=0.5)
        image = below.imshow(
            spectrograms[column],
            origin="lower",
            aspect="auto",
            extent=(0, seconds, 0, len(spectrograms[column])),
            vmin=top - _DECIBELS,
            vmax=top,
            cmap="magma",
        )
        shares = np.linspace(0, 1, 5)
        hertz = 700 * ((1 + sample_rate / 2 / 700) ** shares - 1)
        below.set_yticks(shares * len(spectrograms[column]), [f"{value:.0f}" for value in hertz])
        below.set_xlabel("seconds")
    axes[0][0].set_ylabel("amplitude")
    axes[1][0].set_ylabel("hertz, mel scale")
    lowest = axes[1][0].get_position()
    colours = figure.add_axes((right + 0.15 / width, lowest.y0, 0.15 / width, lowest.height))
    figure.colorbar(image, cax=colours, label="dB")
    content = io.BytesIO()
    figure.savefig(content, format="png")
    with disk.atomic_write(path) as stream:
        stream.write(content.getvalue())


def envelope(wave: Wave, most: int) -> tuple[Wave, Wave]:
    """The lowest and the highest samples (n,) of n stretches of a wave (N,), n at most `most`."""
    count = min(wave.size, most)
    begins = np.arange(count) * wave.size // max(count, 1)
    return np.minimum.reduceat(wave, begins), np.maximum.reduceat(wave, begins)


def log_mel(wave: Wave, sample_rate: int) -> Floats:
    """The mel spectrogram (M, frames) of a wave (N,), in decibels.

    Frames are 30 to 60 ms long and overlap by three quarters; M is an eighth of their samples, and
    at most 256. mel = 2595 log10(1 + f / 700) (O'Shaughnessy, 1987).
    """
    size = 1 << max(6, math.ceil(math.log2(sample_rate * 0.03)))
    frames = sliding_window_view(np.pad(wave, size // 2), size)[:: size // 4]
    spectra = np.fft.rfft(frames * hann(size), _PADDING * size)
    count, bins = min(size // 8, _BANDS), np.linspace(0, sample_rate / 2, spectra.shape[1])
    edges = 700 * ((1 + sample_rate / 2 / 700) ** np.linspace(0, 1, count + 2)[:, None] - 1)
    widths = np.diff(edges, axis=0)
    rising, falling = (bins - edges[:-2]) / widths[:-1], (edges[2:] - bins) / widths[1:]
    bands = np.minimum(rising, falling).clip(0).astype(np.float32)
    power = bands @ np.square(np.abs(spectra)).T / np.float32(_PADDING)
    return np.asarray(10 * np.log10(power + np.float32(1e-10)))
