"""What fools the distances: every change is made, and those that are heard are told by name."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from benchmarks import fooled
from seqkit.data.datasets import etude


@pytest.mark.thorough
def test_every_change_has_a_row(tmp_path: Path) -> None:
    etude.write(tmp_path / "a.wav", etude.render(etude.compose(32), 16000), 16000)
    wave = etude.render(etude.compose(40), 16000)[-11 * 16000 :]
    soundfile.write(tmp_path / "b.wav", np.stack([wave, wave], 1) / 2, 16000)
    rows = fooled.table([tmp_path / "a.wav", tmp_path / "b.wav"])
    found = {cells[1].strip(): cells[2:-1] for cells in (row.split("|") for row in rows)}
    assert list(found) == list(fooled.CHANGES)
    assert all(len(cells[0].split()) == 6 for cells in found.values())
    assert found["backwards"][1].strip() == "2 of 2"
    assert found["a semitone higher"][1:] == [" 0 of 2 ", " pitch 2 "]
    assert "loudness 2" in found["random phases, windows of 1024"][2]
