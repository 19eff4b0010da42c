"""Codecs give back what they were given, whatever it is."""

import json

import numpy as np
import numpy.typing as npt
import pytest
import torch
import torchaudio
from hypothesis import given
from hypothesis import strategies as st

from seqkit.data import codecs
from seqkit.data.codecs import Bytes, Characters, Linear, MuLaw, Quantiser, UnknownSymbolError
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError

ODD = "\ufeffA\r\nB\rC\x00 \U0001f600\u2028e\u0301\u00e9\n"


@given(st.text(min_size=1))
def test_characters_round_trip(text: str) -> None:
    codec = Characters.fit([text])
    assert codec.decode(codec.encode(text)) == text
    assert codec.size == len(set(text))


@given(st.binary())
def test_bytes_round_trip(data: bytes) -> None:
    assert Bytes().decode(Bytes().encode(data)) == data


@given(st.text(min_size=1))
def test_a_spec_rebuilds_the_codec(text: str) -> None:
    codec = Characters.fit([text])
    again = codecs.from_spec(json.loads(json.dumps(codec.to_spec())), Catalogue())
    assert isinstance(again, Characters)
    assert (again.vocabulary, again.start) == (codec.vocabulary, codec.start)


def test_an_unknown_character_is_named_with_its_place() -> None:
    codec = Characters.fit(["abc"])
    with pytest.raises(UnknownSymbolError, match=r"'☃' \(U\+2603, SNOWMAN\) at offset 2") as caught:
        codec.encode("ab☃")
    assert caught.value.offset == 2


@pytest.mark.parametrize(
    ("vocabulary", "characters", "nearest"),
    [
        ("aeE", "é", "e"),
        ("AB", "b", "B"),
        ("'a", "\u2019", "'"),
        (" ab", "\t", " "),
        ("az", "y", ""),
        ("'a", "\u201c", "'"),
        ("-.z", "\u2014\u2026", "-..."),
        ("afiz", "\ufeff\ufb01☃", "fi"),
        ("\nz", "\r\n\r", "\n\n"),
        ("sz", "ß", "ss"),
    ],
)
def test_unknown_characters_can_be_replaced(vocabulary: str, characters: str, nearest: str) -> None:
    codec = Characters("".join(sorted(vocabulary)), 0)
    assert codec.decode(codec.encode(characters, "nearest")) == nearest


def test_the_nearest_of_a_letter_is_itself_however_it_is_spelt() -> None:
    composed, apart, plain = (Characters.fit([each]) for each in ("café", "cafe\u0301", "cafe"))
    for text in ("café", "cafe\u0301"):
        assert composed.decode(composed.encode(text, "nearest")) == "café"
        assert apart.decode(apart.encode(text, "nearest")) == "cafe\u0301"
        assert plain.decode(plain.encode(text, "nearest")) == "cafe"


@given(st.text(min_size=1), st.text())
def test_a_vocabulary_grows_around_the_symbols_that_it_has(old: str, text: str) -> None:
    codec = Characters.fit([old])
    grown = codec.grown([text[:3], text[3:]])
    assert grown.vocabulary == Characters.fit([old + text]).vocabulary
    assert grown.decode(grown.encode(codec.vocabulary)) == codec.vocabulary
    assert grown.decode([grown.start]) == codec.decode([codec.start])
    assert (grown is codec) == (not set(text) - set(old))


@pytest.mark.parametrize("codec", [MuLaw(256, 8000), MuLaw(31, 16000, 0.3), Linear(256, 8000, 2.5)])
def test_quantisers_know_their_own_levels(codec: Quantiser) -> None:
    symbols = np.arange(codec.size)
    assert np.array_equal(codec.encode(codec.decode(symbols)), symbols)
    assert (np.diff(codec.decode(symbols)) > 0).all()
    silence = codec.encode(np.zeros(3, np.float32))
    assert silence.tolist() == [codec.start] * 3
    again = codecs.from_spec(json.loads(json.dumps(codec.to_spec())), Catalogue())
    assert isinstance(again, type(codec))
    assert (again.levels, again.sample_rate, again.gain) == (
        codec.levels, codec.sample_rate, codec.gain,
    )  # fmt: skip
    assert np.array_equal(again.decode(symbols), codec.decode(symbols))


def test_quantisers_clip_what_is_too_loud_and_refuse_what_is_no_number() -> None:
    for codec in (MuLaw(256, 8000), Linear(256, 8000)):
        assert codec.encode(np.array([-1.5, 1.5], np.float32)).tolist() == [0, 255]
        for value in (np.nan, np.inf, -np.inf):
            with pytest.raises(ValueError, match="finite"):
                codec.encode(np.array([0, value], np.float32))


def theoretical_noise(codec: Quantiser, wave: npt.NDArray[np.float32]) -> float:
    """Mean of step² / 12 (Widrow, 1956), the step being that of the curve where the signal is."""
    x = np.abs(wave.astype(np.float64)) * codec.gain
    mu = codec.levels - 1.0
    if isinstance(codec, MuLaw):
        step = 2 / mu * (1 + mu * x) * np.log1p(mu) / mu
    else:
        step = np.full_like(x, 2 / codec.levels)
    return float((step**2 / 12).mean() / codec.gain**2)


@pytest.mark.parametrize("codec", [MuLaw(256, 8000), Linear(256, 8000), MuLaw(64, 8000, 1.8)])
def test_the_error_is_that_of_the_theory(codec: Quantiser) -> None:
    wave = (np.random.default_rng(5).normal(size=200_000) * 0.12).astype(np.float32)
    error = codec.decode(codec.encode(wave)).astype(np.float64) - wave
    assert np.mean(error**2) == pytest.approx(theoretical_noise(codec, wave), rel=0.03)


@pytest.mark.parametrize(
    "spec",
    [
        {"name": ""},
        {"name": "os.system"},
        {"name": "seqkit.data.codecs.characters:Bytes"},
        {"name": "characters"},
        {"name": "characters", "vocabulary": [98, 97], "start": 0},
        {"name": "characters", "vocabulary": [97, 1114112], "start": 0},
        {"name": "characters", "vocabulary": [97], "start": 1},
        {"name": "characters", "vocabulary": "ab", "start": 0},
        {"name": "mu_law"},
        {"name": "mu_law", "levels": 1, "sample_rate": 8000, "gain": 1.0},
        {"name": "linear", "levels": 256, "sample_rate": 0, "gain": 1.0},
        {"name": "mu_law", "levels": 256, "sample_rate": 10**30, "gain": 1.0},
        {"name": "mu_law", "levels": 256, "sample_rate": 8000, "gain": 1.0, "channels": 2.0},
        {"name": "linear", "levels": 256, "sample_rate": 8000, "gain": float("nan")},
        {"name": "linear", "levels": 10**9, "sample_rate": 8000, "gain": 1.0},
        {"name": "linear", "levels": "256", "sample_rate": 8000, "gain": 1.0},
    ],
)
def test_a_spec_of_nonsense_is_refused(spec: dict[str, object]) -> None:
    with pytest.raises((ValueError, ConfigError), match="codec"):
        codecs.from_spec(spec, Catalogue())


@pytest.mark.parametrize("levels", [2, 37, 256, 1024])
def test_every_level_of_mu_law_is_that_of_torchaudio(levels: int) -> None:
    noise = np.random.default_rng(1).uniform(-1, 1, 4_000).astype(np.float32)
    wave = np.concatenate([noise, np.array([-1, -1e-9, 0, 1e-9, 1], np.float32)])
    codec = MuLaw(levels, 8000)
    expected = torchaudio.functional.mu_law_encoding(torch.from_numpy(wave), levels).numpy()
    assert np.array_equal(codec.encode(wave), expected)
    values = torchaudio.functional.mu_law_decoding(torch.arange(levels), levels).numpy()
    np.testing.assert_allclose(codec.decode(np.arange(levels)), values, rtol=3e-7, atol=6e-8)
