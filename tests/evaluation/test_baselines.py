"""The baselines are what they say, and take no more memory for more data."""

import lzma

import numpy as np
import pytest

from seqkit.data.codecs import Bytes, Characters
from seqkit.evaluation import baselines


def test_guessing_by_frequency_is_the_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    symbols = np.random.default_rng(1).normal(128, 20, 5000).astype(np.uint8)
    shares = np.unique(symbols, return_counts=True)[1] / 5000
    monkeypatch.setattr(baselines, "_BLOCK", 1000)
    entropy = -(shares * np.log2(shares)).sum()
    assert baselines.histogram_bits(symbols, 256) == pytest.approx(entropy, rel=1e-12)


def test_xz_packs_the_text_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "_BLOCK", 100)
    text = "naïve – ☃ 𝄞 " * 30
    codec = Characters.fit([text])
    symbols = codec.encode(text)
    assert baselines.text_bytes(symbols, codec) == len(text.encode())
    assert baselines.packed_bytes(symbols, codec) == len(lzma.compress(text.encode()))
    binary = np.random.default_rng(1).integers(0, 256, 5000).astype(np.uint8)
    assert baselines.text_bytes(binary, Bytes()) == 5000
    assert baselines.packed_bytes(binary, Bytes()) == len(lzma.compress(binary.tobytes()))
