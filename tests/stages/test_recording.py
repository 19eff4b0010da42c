"""What is kept of a recording to compare sounds with, and what is said where nothing is."""

from pathlib import Path

import numpy as np
import pytest

from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session
from seqkit.stages.recording import recording_to_keep
from tests.stages.test_data import read

NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 16_000)


@pytest.mark.parametrize(
    ("wave", "said"),
    [
        (NOISE, ""),
        (NOISE[:1500], "a.wav: nothing to compare a sound with: a recording of at least 0."),
        (np.stack([NOISE, -NOISE], 1), "a.wav: nothing to compare a sound with: it is silent, as"),
    ],
    ids=["heard", "short", "antiphase"],
)
def test_that_no_recording_is_kept_is_told_once(
    wave: np.ndarray, said: str, tmp_path: Path
) -> None:
    data, _ = read(wave, tmp_path, codec="spectral", channels=wave.ndim)
    told = list[str]()
    kept = recording_to_keep(data, Session(Catalogue(), told.append))
    assert (kept is None) == bool(said)
    assert [notice[: len(said)] for notice in told] == [said] * bool(said)
