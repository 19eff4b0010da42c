"""Recordings become symbols: whole, in place, and with every fault and change reported."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.codecs import MuLaw, Quantiser
from seqkit.data.sound import Wave
from seqkit.data.sound.reader import resampled
from seqkit.foundation.errors import DataError
from tests.data.conftest import load

RATE = 8000


def noise(seconds: float = 0.3, seed: int = 1, level: float = 0.5) -> Wave:
    count = round(seconds * RATE)
    return np.random.default_rng(seed).uniform(-level, level, count).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve clips, two of them deeper down, of which three are the test part."""
    (tmp_path / "clips" / "deep").mkdir(parents=True)
    for number in range(12):
        name = f"deep/c_{number}.wav" if number > 9 else f"c_{number}.wav"
        wave = noise(0.2 + number / 50, number, 0.4)
        soundfile.write(tmp_path / "clips" / name, wave, RATE, "FLOAT")
    (tmp_path / "clips" / "notes.txt").write_text("not sound")
    return tmp_path / "clips"


def test_a_file_comes_back_within_the_quantisers_error(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", noise(), RATE, "FLOAT")
    for settings in ({}, {"codec": "linear"}, {"levels": 1000}, {"gain": "peak"}):
        corpus = load(tmp_path / "a.wav", **settings)
        codec = corpus.codec
        assert isinstance(codec, Quantiser)
        assert codec.sample_rate == RATE
        wave = codec.decode(corpus.whole.symbols)
        steps = np.diff(codec.decode(np.arange(codec.size)))
        assert np.abs(wave - noise()).max() <= steps.max() / 2 * 1.01


def test_a_split_takes_whole_files_and_the_test_part_is_the_data_sets_own(
    folder: Path, tmp_path: Path
) -> None:
    corpus = load(folder, test="c_[0-2].wav")
    training, validation, test = corpus.split([0.7, 0.3, 0.0])
    assert [len(part.starts) for part in (training, validation, test)] == [7, 2, 3]
    own = sorted(len(noise(0.2 + number / 50)) for number in range(3))
    assert sorted(np.diff([*test.starts, len(test)]).tolist()) == own
    few = load(folder).split([0.98, 0.01, 0.01])
    assert [len(part.starts) for part in few] == [10, 1, 1]
    pieces = np.split(corpus.whole.symbols, corpus.whole.starts[1:])
    codec = MuLaw(256, RATE)
    expected = [codec.encode(noise(0.2 + number / 50, number, 0.4)) for number in range(12)]
    assert sorted(map(bytes, pieces)) == sorted(map(bytes, expected))


def test_rates_and_channels_are_brought_together_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    wave = noise(0.5)
    soundfile.write(folder / "a.wav", wave, RATE, "FLOAT")
    faster = np.concatenate([*resampled([wave[:, None]], RATE, 44100)])
    soundfile.write(folder / "b.wav", faster, 44100, "FLOAT")
    soundfile.write(folder / "c.wav", np.stack([wave, wave * 0.5], 1), RATE, "FLOAT")
    soundfile.write(folder / "short.wav", wave[:40], RATE, "FLOAT")
    soundfile.write(folder / "silent.wav", 0 * wave, RATE, "FLOAT")
    soundfile.write(folder / "loud.wav", 4 * wave, RATE, "FLOAT")
    (folder / "notes.txt").write_text("not sound")
    corpus = load(folder, sample_rate=RATE)
    assert len(corpus.whole.starts) == 4
    assert len(corpus.whole) == 4 * wave.size
    assert corpus.skipped == 2
    told, left_out = corpus.notes
    assert left_out == "left out: 1 not named as sound"
    clipped = int((np.abs(4 * wave) > 1).sum())
    for said in (
        "4 of 6 files of sound read",
        "1 resampled from 44100 Hz to 8000 Hz",
        "1 mixed from 2 channels",
        "1 left out (shorter than 20 ms)",
        "1 left out (silent)",
        f"{clipped} samples over 1 clipped",
    ):
        assert said in told
    assert load(folder, sample_rate=RATE).notes == corpus.notes  # cached


def test_one_channel_can_be_chosen(tmp_path: Path) -> None:
    left, right = noise(seed=1), noise(seed=2)
    soundfile.write(tmp_path / "a.wav", np.stack([left, right], 1), RATE, "FLOAT")
    mean: Wave = (left + right) * np.float32(0.5)
    for channel, expected in (("0", left), ("1", right), ("mix", mean)):
        corpus = load(tmp_path / "a.wav", channel=channel)
        assert np.array_equal(corpus.whole.symbols, MuLaw(256, RATE).encode(expected))
    with pytest.raises(DataError, match=r"data\.channel=2: it has 2 channel"):
        load(tmp_path / "a.wav", channel="2")


def test_a_gain_is_of_the_whole_data_set(folder: Path, tmp_path: Path) -> None:
    soundfile.write(folder / "quiet.wav", noise(level=0.01), RATE, "FLOAT")
    waves = [soundfile.read(file, dtype="float32")[0] for file in folder.rglob("*.wav")]
    whole = np.concatenate(waves).astype(np.float64)
    for gain, expected in (("none", 1.0), ("peak", 1 / np.abs(whole).max())):
        codec = load(folder, gain=gain).codec
        assert isinstance(codec, Quantiser)
        assert codec.gain == pytest.approx(expected, rel=1e-5)


def test_a_bad_file_ends_it_or_is_left_out(folder: Path, tmp_path: Path) -> None:
    (folder / "text.wav").write_text("a text")
    wave = noise(5)
    wave[20_000] = np.nan  # some blocks of it have been written by then
    soundfile.write(folder / "nan.wav", wave, RATE, "FLOAT")
    for gain in ("none", "peak"):
        with pytest.raises(DataError, match=r"(nan|text)\.wav: .*data\.on_bad_file=skip"):
            load(folder, gain=gain)
        # As the test part the faulty file is the last one.
        corpus = load(folder, test="nan.wav", gain=gain, on_bad_file="skip")
        assert len(corpus.whole) == sum(noise(0.2 + n / 50).size for n in range(12))
        assert (len(corpus.whole.starts), corpus.skipped) == (12, 2)
        (told,) = corpus.notes
        assert told.startswith("left out: 1 not named as sound; 2 cannot be read: ")
        assert "nan.wav (sample 20000 is not finite (nan))" in told
        assert "text.wav (cannot be read as sound" in told


def test_what_holds_no_sound_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("a text")
    (tmp_path / "a.wav").write_text("a text")
    (tmp_path / "nothing.wav").touch()
    soundfile.write(tmp_path / "silent.wav", np.zeros(5000), RATE)
    soundfile.write(tmp_path / "short.wav", noise(0.01), RATE)
    for name, said in [
        ("none.wav", "no such file"),
        ("empty", "no file of sound"),
        ("a.wav", "cannot be read as sound: it is text"),
        ("nothing.wav", "cannot be read as sound: it is empty"),
        ("text", "no file of sound; left out: 1 not named as sound; text is for"),
        ("silent.wav", "silent"),
        ("short.wav", "shorter"),
    ]:
        for skip in ("error", "skip"):
            with pytest.raises(DataError, match=said) as caught:
                load(tmp_path / name, kind="audio", on_bad_file=skip)
            assert name in str(caught.value)
    opposite = np.outer(noise(0.5), (1, -1))
    soundfile.write(tmp_path / "opposite.wav", opposite, RATE)
    for gain in ("none", "peak"):
        with pytest.raises(DataError, match=r"one of its channels alone, data\.channel=0$"):
            load(tmp_path / "opposite.wav", gain=gain)
        one = load(tmp_path / "opposite.wav", gain=gain, channel="0")
        assert len(one.whole) == len(opposite)


def test_a_rate_above_all_that_are_learnt_is_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", noise(), 10**9)
    with pytest.raises(DataError, match=r"a\.wav: a sample rate of 1000000000 Hz, and 384000 is"):
        load(tmp_path / "a.wav")
