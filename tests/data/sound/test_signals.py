"""Resampling and the mu-law curve: the same with and without torchaudio, in pieces and at once."""

import numpy as np
import pytest

from seqkit.data.sound import signals
from seqkit.data.sound.signals import Resampler, Wave

RATES = [(44100, 16000), (16000, 44100), (48000, 16000), (8000, 8000), (11025, 8000), (997, 1009)]


def noise(count: int, seed: int = 1) -> Wave:
    return np.random.default_rng(seed).uniform(-1, 1, count).astype(np.float32)


@pytest.fixture(params=["torchaudio", "without"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "without":
        monkeypatch.setattr(signals, "torchaudio", lambda: None)
    return str(request.param)


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_pieces_give_what_the_whole_gives(rate: int, new_rate: int, library: str) -> None:
    wave = noise(20_011)
    whole = signals.resample(wave, rate, new_rate)
    assert whole.size == -(-wave.size * new_rate // rate)
    resampler = Resampler(rate, new_rate)
    cuts = np.sort(np.random.default_rng(2).integers(0, wave.size, 9))
    pieces = [resampler.convert(piece) for piece in np.split(wave, cuts)]
    pieces.append(resampler.convert(noise(0), last=True))
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=1e-6)


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_the_equations_are_those_of_torchaudio(
    rate: int, new_rate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wave = noise(5_003)
    expected = signals.resample(wave, rate, new_rate)
    monkeypatch.setattr(signals, "torchaudio", lambda: None)
    np.testing.assert_allclose(signals.resample(wave, rate, new_rate), expected, atol=2e-4)


def test_a_tone_stays_and_what_would_fold_back_goes(library: str) -> None:
    time = np.arange(44100) / 44100
    tone = np.sin(2 * np.pi * 1000 * time)
    above = np.sin(2 * np.pi * 9500 * time)
    resampled = signals.resample((tone + above).astype(np.float32), 44100, 16000)
    expected = np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    assert np.abs(resampled - expected)[500:-500].max() < 1e-3


def test_mu_law_without_torchaudio_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    wave = np.concatenate([noise(4_000), np.array([-1, -1e-9, 0, 1e-9, 1], np.float32)])
    expected = {levels: signals.mu_law_encode(wave, levels) for levels in (2, 37, 256, 65536)}
    decoded = {n: signals.mu_law_decode(symbols, n) for n, symbols in expected.items()}
    assert signals.torchaudio() is not None
    monkeypatch.setattr(signals, "torchaudio", lambda: None)
    for levels, symbols in expected.items():
        assert np.array_equal(signals.mu_law_encode(wave, levels), symbols)
        np.testing.assert_allclose(
            signals.mu_law_decode(symbols, levels), decoded[levels], rtol=1e-6
        )


@pytest.mark.parametrize("error", [ImportError, OSError, RuntimeError])
def test_an_import_that_fails_is_none(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise error(name)

    monkeypatch.setattr("seqkit.data.sound.signals.importlib.import_module", fail)
    assert signals.torchaudio.__wrapped__() is None


def test_a_mel_spectrogram_shows_a_tone_where_it_is() -> None:
    rate, hertz = 8000, 1200.0
    wave = np.sin(2 * np.pi * hertz * np.arange(rate) / rate).astype(np.float32)
    mel = signals.log_mel(wave, rate)
    row = int(mel[:, mel.shape[1] // 2].argmax())
    edges = signals.mel_hertz(np.array([row - 1, row + 2]) / len(mel), rate)
    assert edges[0] < hertz < edges[1]
