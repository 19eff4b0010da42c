"""Pictures of sound: the waveform above its mel spectrogram, and what they are drawn from."""

import io
import math
from pathlib import Path

import numpy as np

from seqkit.data.sound import Wave
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
    # matplotlib is slow to import, and few commands draw.
    from matplotlib.figure import Figure

    wave, sample_rate = read_whole(file)
    figure = Figure(figsize=(6.4, 4.8), dpi=64)
    # Set by hand: to find a layout takes as long as to draw it. The colours stand at the right.
    figure.subplots_adjust(0.14, 0.1, 0.83, 0.93, hspace=0.08)
    above, below = figure.subplots(2, sharex=True, height_ratios=(1, 2))
    above.set_title(visible_line(file.name))
    seconds, count = wave.size / sample_rate, min(wave.size, _POINTS)
    begins = np.arange(count) * wave.size // max(count, 1)
    ends = np.minimum.reduceat(wave, begins), np.maximum.reduceat(wave, begins)
    above.fill_between(begins / sample_rate, *ends, linewidth=0.5)
    above.set_ylabel("amplitude")
    spectrogram = log_mel(wave, sample_rate)
    top, bands = float(spectrogram.max()), len(spectrogram)
    colours = {"vmin": top - _DECIBELS, "vmax": top, "cmap": "magma"}
    extent = 0, seconds, 0, bands
    image = below.imshow(spectrogram, origin="lower", aspect="auto", extent=extent, **colours)
    shares = np.linspace(0, 1, 5)
    hertz = 700 * ((1 + sample_rate / 2 / 700) ** shares - 1)
    below.set_yticks(shares * bands, [f"{value:.0f}" for value in hertz])
    below.set_xlabel("seconds")
    below.set_ylabel("hertz, mel scale")
    place = below.get_position()
    beside = figure.add_axes((0.85, place.y0, 0.023, place.height))
    figure.colorbar(image, cax=beside, label="dB")
    content, picture = io.BytesIO(), file.with_suffix(".png")
    figure.savefig(content, format="png")
    disk.write(picture, content.getvalue())
    return picture


def log_mel(wave: Wave, sample_rate: int) -> Floats:
    """The mel spectrogram (M, frames) of a wave (N,), in decibels.

    Frames are 30 to 60 ms long and overlap by three quarters; M is an eighth of their samples, and
    at most 256.
    """
    import torch
    from torchaudio.transforms import MelSpectrogram

    size = 1 << max(6, math.ceil(math.log2(sample_rate * 0.03)))
    frames = {"win_length": size, "hop_length": size // 4, "pad_mode": "constant"}
    bands = min(size // 8, _BANDS)
    spectrogram = MelSpectrogram(sample_rate, _PADDING * size, n_mels=bands, **frames)
    power = spectrogram(torch.from_numpy(wave)).numpy() / _PADDING
    return np.asarray(10 * np.log10(power + np.float32(1e-10)))
