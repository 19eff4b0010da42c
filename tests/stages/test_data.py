"""What a training leaves out of sound is told if it can be measured."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.config import DataConfig, TrainConfig
from seqkit.data.codecs import Spectral
from seqkit.data.sound import Wave
from seqkit.data.sound.reader import read_whole
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.ranks import Session
from seqkit.stages.data import TrainingData, read_data, recording_to_keep


def wave_of(file: Path) -> Wave:
    """Its samples (N,)."""
    return read_whole(file)[0]


def read(wave: np.ndarray, tmp_path: Path, **keys: object) -> tuple[TrainingData, list[str]]:
    """The data of a training on a sound, and what is told of them."""
    soundfile.write(tmp_path / "a.wav", wave, 8000)
    path, told = [str(tmp_path / "a.wav")], list[str]()
    keys = {"split": [1.0, 0.0, 0.0]} | keys
    data = DataConfig(path=path, **keys)  # type: ignore[arg-type]
    session = Session(Catalogue(), told.append)
    return read_data(data, None, TrainConfig(sequence_length=16), session), told


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


def test_frames_are_read_from_eight_places_to_learn_from(tmp_path: Path) -> None:
    wave = np.random.default_rng(0).uniform(-0.5, 0.5, 16000)
    data, notices = read(wave, tmp_path, codec="spectral")
    codec, training = data.corpus.codec, data.training
    assert isinstance(codec, Spectral)
    milliseconds = round(codec.layout.size / 8)
    assert notices[-1].startswith(f"codec: windows of {milliseconds} ms, ")
    size = len(data.corpus.whole)
    assert training.starts.tolist() == [size * number for number in range(8)]
    assert len(training) == 8 * size
    sound = wave_of(tmp_path / "a.wav")
    sound -= sound.mean()
    for number in range(8):
        skipped = codec.hop * number // 8
        later = np.concatenate([sound[skipped:], np.zeros(skipped, np.float32)])
        found = training.symbols[size * number : size * (number + 1)]
        assert (found == codec.encode(later)).mean() > 0.999


def test_the_offset_of_a_recorder_is_not_learnt(tmp_path: Path) -> None:
    wave = np.random.default_rng(0).uniform(-0.5, 0.5, 16000)
    tops, halves = [], []
    for offset in (0, 0.25):
        data, _ = read(wave + offset, tmp_path, codec="spectral")
        kept = recording_to_keep(data, Session(Catalogue(), lambda text: None))
        codec = data.corpus.codec
        assert isinstance(codec, Spectral)
        assert kept
        assert abs(codec.decode(data.corpus.whole.symbols).mean()) < 0.01
        tops.append(codec.layout.top)
        halves.append(kept.halves)
    assert tops[1] == pytest.approx(tops[0], abs=0.01)
    np.testing.assert_allclose(halves[1], halves[0], rtol=0.01)


def test_a_validation_part_is_read_from_one_place(tmp_path: Path) -> None:
    wave = np.random.default_rng(0).uniform(-0.5, 0.5, 16000)
    data, _ = read(wave, tmp_path, codec="spectral", split=[0.75, 0.25, 0.0])
    whole = data.corpus.whole
    assert len(data.training) == 8 * (len(whole) - len(data.validation))
    assert np.array_equal(data.validation.symbols, whole.symbols[-len(data.validation) :])


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
