"""What a training leaves out of sound is told if it can be measured."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.config import Config, DataConfig, TrainConfig
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session
from seqkit.runs.folder import RunFolder
from seqkit.stages.claim import Claim
from seqkit.stages.data import TrainingData, read_data


def read(wave: np.ndarray, tmp_path: Path, **keys: object) -> tuple[TrainingData, list[str]]:
    """The data of a training on a sound, and what is told of them."""
    soundfile.write(tmp_path / "a.wav", wave, 8000)
    path, told = [str(tmp_path / "a.wav")], list[str]()
    data = DataConfig(path=path, split=[1.0, 0.0, 0.0], **keys)  # type: ignore[arg-type]
    config = Config(data=data, train=TrainConfig(sequence_length=16))
    claim = Claim(RunFolder(tmp_path / "run"), config)
    return read_data(claim, Session(Catalogue(), told.append)), told


@pytest.mark.parametrize(("quiet", "told"), [(0.02, ""), (0.2, "0.2 s of silence left out (")])
def test_silence_too_short_to_be_measured_is_not_told_about(
    quiet: float, told: str, tmp_path: Path
) -> None:
    wave = np.random.default_rng(0).uniform(-0.5, 0.5, 16000)
    wave[: round(8000 * quiet)] = 0
    data, notices = read(wave, tmp_path, trim_silence=40.0)
    assert len(data.training) < len(data.unabridged) == len(data.corpus.whole)
    assert any("silence left out" in notice for notice in notices) == bool(told)
    assert told in notices[-1]


def test_what_was_chosen_for_the_bands_of_a_recording_is_told(tmp_path: Path) -> None:
    wave = np.cumsum(np.random.default_rng(0).uniform(-0.01, 0.01, 16000))
    wave *= 0.5 / np.abs(wave).max()
    data, notices = read(wave, tmp_path, gain="peak", emphasis="auto", bands="2")
    spec = data.corpus.codec.to_spec()
    words = ", ".join(f"{share:g}" for share in spec["band_emphases"])
    assert notices[-1].startswith(f"codec: 2 bands of 2000 Hz, emphasis {words} (data.emphasis)")
    assert f"{data.corpus.snr:.0f} dB" in notices[-1]
