"""Mel spectrograms."""

import numpy as np

from seqkit.data.sound import mel


def test_a_mel_spectrogram_shows_a_tone_where_it_is() -> None:
    rate, hertz = 8000, 1200.0
    wave = np.sin(2 * np.pi * hertz * np.arange(rate) / rate).astype(np.float32)
    spectrogram = mel.log_mel(wave, rate)
    row = int(spectrogram[:, spectrogram.shape[1] // 2].argmax())
    edges = mel.to_hertz(np.array([row - 1, row + 2]) / len(spectrogram), rate)
    assert edges[0] < hertz < edges[1]
