"""The étude is music: its strings sound at their pitches, and it is the same every time."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data import etude
from seqkit.data.datasets import Folders


@pytest.mark.parametrize("hertz", etude.SCALE)
@pytest.mark.parametrize("played", [(8000,), (16000,), (44100, 28, 12)])
def test_a_string_sounds_at_its_pitch_and_dies_away(hertz: float, played: tuple[int, ...]) -> None:
    rate = played[0]
    tone = etude.pluck(hertz, rate // 2, *played)
    spectrum = np.abs(np.fft.rfft(tone * np.hanning(len(tone)), 16 * rate))  # 16 bins a hertz
    partial = spectrum.argmax() / 16 / hertz
    assert abs(1200 * np.log2(partial / round(partial))) < 5
    loudness = [np.abs(part).max() for part in np.array_split(tone, 5)]
    assert loudness == sorted(loudness, reverse=True)
    assert tone[-1] == 0


@pytest.mark.thorough
@pytest.mark.parametrize("dataset", [etude.ETUDE, etude.ETUDE_44K])
def test_it_is_written_once(dataset: etude.Etude, tmp_path: Path) -> None:
    told = list[str]()
    path = dataset.locate(Folders(tmp_path, told.append)).path
    assert told[0].startswith("no data.path: a built-in étude of 160 s is read; data.path=")
    before = path.stat()
    assert dataset.locate(Folders(tmp_path, print)).path.stat() == before
    sound, rate = soundfile.read(path, dtype="float32")
    assert rate == dataset.sample_rate
    assert sound.size >= 30 * rate
    assert 0.5 < np.abs(sound).max() < 1
