"""The mu-law curve is the same with and without torchaudio."""

import numpy as np
import pytest

from seqkit.data.sound import mu_law
from seqkit.data.sound.torchaudio_import import torchaudio
from tests.data.sound.test_resample import noise


def test_mu_law_without_torchaudio_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    wave = np.concatenate([noise(4_000), np.array([-1, -1e-9, 0, 1e-9, 1], np.float32)])
    expected = {levels: mu_law.encode(wave, levels) for levels in (2, 37, 256, 65536)}
    decoded = {n: mu_law.decode(symbols, n) for n, symbols in expected.items()}
    assert torchaudio() is not None
    monkeypatch.setattr(mu_law, "torchaudio", lambda: None)
    for levels, symbols in expected.items():
        assert np.array_equal(mu_law.encode(wave, levels), symbols)
        assert np.array_equal(mu_law.decode(symbols, levels), decoded[levels])
