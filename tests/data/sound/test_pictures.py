"""A picture shows a sound where it is: its time, its loudness and its pitch."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from matplotlib import image

from seqkit.data.sound import pictures

RATE = 8000


def test_a_tone_is_drawn_where_it_is_heard(tmp_path: Path) -> None:
    time = np.arange(2 * RATE) / RATE
    wave = (0.8 * np.sin(2 * np.pi * 1000 * time) * (time < 1)).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", wave, RATE)
    assert pictures.draw_file(tmp_path / "a.wav") == tmp_path / "a.png"
    red, green, blue = np.moveaxis(image.imread(tmp_path / "a.png")[..., :3], -1, 0)
    # Most of the spectrogram is silence, in the darkest colour: this is how it is found.
    dark = np.maximum(red, green) < 0.05
    rows, columns = (np.flatnonzero(dark.mean(axis) > 0.3) for axis in (1, 0))
    top, bottom, left, right = rows[0], rows[-1], columns[0], columns[-1]
    middle = (left + right) // 2
    bright = (red > 0.9) & (green > 0.8) & (blue > 0.5) & (blue < 0.9)
    heard = bright[top:bottom, left:right]
    assert heard[:, : middle - left - 5].any(0).mean() > 0.9
    assert not heard[:, middle - left + 5 :].any()
    mel = np.log10(1 + 1000 / 700) / np.log10(1 + RATE / 2 / 700)
    assert 1 - np.flatnonzero(heard.any(1)).mean() / (bottom - top) == pytest.approx(mel, abs=0.03)
    amplitude = (blue > red + 0.1)[:top, left:right]
    assert amplitude[:, : middle - left - 5].sum(0).min() > 40  # pixels high
    assert amplitude[:, middle - left + 5 :].sum(0).max() < 4
