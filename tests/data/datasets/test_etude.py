"""The étude is music: its pitches are those of its scale, and it is the same every time."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.datasets import Folders, etude
from seqkit.evaluation.pitch import pitches
from tests.pitch import on_scale


@pytest.mark.parametrize("hertz", etude.SCALE)
@pytest.mark.parametrize("rate", [8000, 16000])
def test_a_string_sounds_at_its_pitch_and_dies_away(hertz: float, rate: int) -> None:
    tone = etude.pluck(hertz, rate // 2, rate)
    found = pitches(tone.astype(np.float32), rate)[1:]
    cents = 1200 * np.log2(found / hertz)
    assert np.abs(cents - 1200 * np.round(cents / 1200)).max() < 5
    loudness = [np.abs(part).max() for part in np.array_split(tone, 5)]
    assert loudness == sorted(loudness, reverse=True)
    assert tone[-1] == 0


def test_it_is_written_once_and_is_the_same_everywhere(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        told = list[str]()
        located = etude.locate(Folders(tmp_path / name, told.append))
        assert told[0].startswith("no data.path: a built-in étude of 160 s is read; data.path=")
        contents.append(located.path.read_bytes())
        assert etude.locate(Folders(tmp_path / name, print)).path == located.path
    assert contents[0] == contents[1]
    sound, rate = soundfile.read(tmp_path / "a" / "made" / "etude_1.wav", dtype="float32")
    assert sound.size >= 30 * rate
    assert 0.5 < np.abs(sound).max() < 1
    share, notes = on_scale(sound, rate, etude.SCALE)
    assert (share > 0.8, notes) == (True, 6)
