"""Another sound as the score: its codes and its loudness, in octaves that the model knows."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.config import Config, ModelConfig
from seqkit.data.codecs import Characters, Codec, MuLaw
from seqkit.data.corpus import Part
from seqkit.data.files import BadFileError
from seqkit.data.sound import Wave
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.pitch import PitchBook, melody_of
from seqkit.evaluation.recording import Recording
from seqkit.foundation.errors import ConfigError
from seqkit.generation import like
from seqkit.generation.like import Followed
from seqkit.generation.slow_tier import SlowTier
from seqkit.generation.stream_conditions import StreamConditions
from seqkit.model.arrays import NetworkArrays
from seqkit.model.char_rnn import CharRNN
from seqkit.stages.conditions import coded, learn_codes

RATE = 4000
CODEC = MuLaw(256, RATE)


def sung(*notes: int, size: float = 0.4, rate: int = RATE) -> Wave:
    """Notes of half a second."""
    time = np.arange(rate // 2) / rate
    parts = [np.cos(2 * np.pi * 440 * 2 ** ((note - 69) / 12) * time) for note in notes]
    return (size * np.concatenate(parts)).astype(np.float32)


LEARNT = sung(57, 60, 64, 62)


def tier(kind: str, learnt: Wave = LEARNT) -> SlowTier:
    """What tells of a recording's notes, with a writer that has learnt nothing."""
    part = Part.of(CODEC.encode(learnt))
    book = learn_codes(SoundPart(part, CODEC), 1, kind)
    config = ModelConfig(num_layers=1, hidden_size=4, vocabulary_size=book.size)
    return SlowTier(book, book.codes(book.describe(learnt)), NetworkArrays.of(CharRNN(config)))


@pytest.fixture(scope="module", params=["codes", "pitch"])
def slow(request: pytest.FixtureRequest) -> SlowTier:
    return tier(request.param)


@pytest.fixture(scope="module")
def of_notes() -> SlowTier:
    return tier("pitch")


def follow(
    slow: SlowTier | None, path: Path, codec: Codec = CODEC, **keys: float | str
) -> tuple[Config, Followed, str]:
    told: list[str] = []
    config = dataclasses.replace(Config(like=str(path)), **keys)  # type: ignore[arg-type]
    config, score = like.follow(config, codec, slow, Recording.of(LEARNT, RATE), told.append)
    assert score is not None
    return config, score, " ".join(told)


def test_a_quieter_recording_at_another_rate_has_the_codes_of_the_learnt_one(
    slow: SlowTier, tmp_path: Path
) -> None:
    soundfile.write(tmp_path / "a.wav", sung(57, 60, 64, 62, size=0.02, rate=3 * RATE), 3 * RATE)
    config, score, said = follow(slow, tmp_path / "a.wav")
    assert (config.length, config.seconds) == (len(LEARNT), None)
    own = slow.codebook
    expected = own.codes(own.describe(LEARNT))
    apart = np.linalg.norm(own.centres[score.codes - 1] - own.centres[expected - 1], axis=1)
    usual = np.linalg.norm(own.centres - own.centres.mean(0), axis=1).mean()
    assert (apart < 0.5 * usual).mean() > 0.9
    assert score.decibels[5:-5] == pytest.approx(10 * np.log10(0.4**2 / 2), abs=1.5)
    words = {
        "codes": "expect its rhythm and its tune: its sounds are 0.",
        "pitch": "100% of its notes are among",
    }
    assert words[own.kind] in said


def test_it_is_heard_for_as_long_as_it_lasts_or_less(slow: SlowTier, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", sung(57, 60), RATE)
    assert follow(slow, tmp_path / "a.wav", seconds=0.25)[0].seconds == 0.25
    assert follow(slow, tmp_path / "a.wav", length=7)[0].length == 7
    stereo = follow(slow, tmp_path / "a.wav", MuLaw(256, RATE, channels=2), length=7)[0]
    assert stereo.length == 6
    with pytest.raises(ConfigError, match="ends with that file: leave until=document out"):
        follow(slow, tmp_path / "a.wav", until="document")
    with pytest.raises(ConfigError, match=r"it lasts 1.00 s: ask for no more"):
        follow(slow, tmp_path / "a.wav", seconds=1.5)


def test_all_symbols_are_told_the_code_of_their_frame_and_a_prompt_its_own(
    slow: SlowTier,
) -> None:
    given = np.array([3, 1, 2], np.uint8)
    hop = slow.codebook.hop
    prompt = CODEC.encode(LEARNT[: 3 * hop + 5])
    of_prompt, following = slow.of_prompt(CODEC, prompt), slow.following(CODEC, given)
    own = coded(SoundPart(Part.of(prompt), CODEC), slow.codebook).codes
    assert own is not None and np.array_equal(of_prompt, own)
    rows = np.concatenate([following(0, 1), following(1, 3 * hop - 1)])
    assert np.array_equal(rows, np.repeat(given.astype(np.int64), hop)[:, None])
    codes, labels = StreamConditions(np.array([0, 2]), of_prompt, following).of_new(hop - 1, 2)
    assert codes is not None and codes.tolist() == [[3, 3], [1, 1]]
    assert labels is not None and labels.tolist() == [[[0], [2]], [[0], [2]]]


def test_silence_is_refused(slow: SlowTier, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.full(RATE, 2e-4), RATE)
    with pytest.raises(BadFileError, match="it is silent: nothing in it is louder than -60 dB"):
        follow(slow, tmp_path / "a.wav")


def test_noise_is_far_from_notes(tmp_path: Path) -> None:
    codes = tier("codes")
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, RATE)
    soundfile.write(tmp_path / "a.wav", noise, RATE)
    said = follow(codes, tmp_path / "a.wav")[2]
    assert float(said.split("its sounds are ")[1].split()[0]) > 1
    assert "expect its rhythm and not its tune" in said


def test_a_melody_is_moved_by_octaves_and_as_loud_as_the_recording(tmp_path: Path) -> None:
    slow = tier("pitch", np.concatenate([LEARNT, np.zeros(RATE // 2, np.float32)]))
    book = slow.codebook
    assert isinstance(book, PitchBook)
    path = tmp_path / "a.csv"
    # C6, A5, B5, which is missing, and a pause.
    path.write_text("0,1046.5,-40\n0.5,880,-46\n1,987.8,-40\n1.1,,-70\n1.2,,0\n")
    _, score, said = follow(slow, path)
    notes, decibels = book.notes[score.codes - 1], score.decibels
    assert notes[:100].tolist() == [60] * 50 + [57] * 50
    assert set(notes[100:110]) <= {60, 62, 57}
    assert (notes[110:] == 0).all()
    assert decibels[:50] == pytest.approx(10 * np.log10(0.4**2 / 2) + 3, abs=1.5)
    assert np.diff(decibels[[0, 50, 100, 110]]) == pytest.approx([-6, 6, -30])
    assert "91% of its notes are among" in said
    assert "it is moved by -2 octaves" in said
    path.write_text("0,,-9\n1,440,-20\n")
    with pytest.raises(BadFileError, match="holds no note"):
        follow(slow, path)


@pytest.mark.parametrize("channels", [1, 2])
def test_a_sample_is_as_loud_as_its_score_however_it_comes_in_blocks(channels: int) -> None:
    codec = MuLaw(256, RATE, channels=channels)
    time = np.arange(2 * RATE) / RATE
    tone = 0.2 * np.cos(2 * np.pi * 220 * time) * (1.5 + np.sin(7 * time))
    streams = [codec.encode((size * tone).astype(np.float32)) for size in (1, 0.5)]
    symbols = np.stack(streams, 1).astype(np.int64)
    wanted = -20 + 10 * np.sin(np.arange(200) / 20)
    cuts = np.array([1, 900, 901, 4000]) * channels
    whole, pieces = (
        np.concatenate([*like.levelled(iter(given), codec, wanted)])
        for given in ([symbols], np.split(symbols, cuts))
    )
    assert np.array_equal(pieces, whole)
    for stream in whole.T:
        heard = melody_of(codec.frames(stream).mean(1), RATE)[:, 1]
        assert heard[3:-3] == pytest.approx(wanted[3:-3], abs=1.5)
    silence = np.full_like(symbols, codec.start)
    silent = np.concatenate([*like.levelled(iter([silence]), codec, wanted)])
    assert melody_of(codec.frames(silent[:, 0]).mean(1), RATE)[:, 1].max() < -40


def test_what_follows_nothing_is_told_what_to_train(of_notes: SlowTier, tmp_path: Path) -> None:
    codes = tier("codes")
    (tmp_path / "a.csv").write_text("0,440,-9\n1,,0\n")
    with pytest.raises(ConfigError, match="cannot follow it: train one with"):
        follow(codes, tmp_path / "a.csv")
    for model, codec in ((None, CODEC), (None, Characters("ab", 0))):
        with pytest.raises(ConfigError, match="train one with recipe=my_sound"):
            follow(model, tmp_path / "a.csv", codec)
    config = Config(seconds=3)
    assert like.follow(config, CODEC, of_notes, None, lambda text: None) == (config, None)
