"""The baselines are what they say, and take no more memory for more data."""

import io
import lzma

import numpy as np
import pytest
import soundfile

from seqkit.data.codecs import Bytes, Characters, Linear, MuLaw
from seqkit.evaluation import baselines


def test_they_are_what_libraries_say(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = MuLaw(256, 8000)
    symbols = np.random.default_rng(1).normal(128, 20, 5000).astype(np.uint8)
    content = io.BytesIO()
    with soundfile.SoundFile(
        content, "w", 8000, 1, "PCM_S8", format="FLAC", compression_level=1.0
    ) as file:
        file.write((symbols.astype(np.int16) - 128) << 8)
    shares = np.unique(symbols, return_counts=True)[1] / 5000
    assert baselines.flac_bits(symbols, codec) == 8 * len(content.getvalue()) / 5000
    monkeypatch.setattr(baselines, "_BLOCK", 1000)
    entropy = -(shares * np.log2(shares)).sum()
    assert baselines.histogram_bits(symbols, 256) == pytest.approx(entropy, rel=1e-12)


def test_flac_packs_what_it_can_predict() -> None:
    codec = MuLaw(256, 8000)
    time = np.arange(40_000) / 8000
    tone = codec.encode((0.4 * np.sin(2 * np.pi * 200 * time)).astype(np.float32))
    noise = np.random.default_rng(1).integers(0, 256, 40_000).astype(np.uint8)
    assert baselines.flac_bits(tone, codec) < 5.5
    assert 8 <= baselines.flac_bits(noise, codec) < 8.1
    wide = np.random.default_rng(1).integers(0, 1024, 40_000).astype(np.uint16)
    assert 10 <= baselines.flac_bits(wide, Linear(1024, 8000)) < 11.2


def test_xz_packs_the_text_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "_BLOCK", 100)
    text = "naïve – ☃ 𝄞 " * 30
    codec = Characters.from_text(text)
    symbols = codec.encode(text)
    assert baselines.text_bytes(symbols, codec) == len(text.encode())
    assert baselines.packed_bytes(symbols, codec) == len(lzma.compress(text.encode()))
    binary = np.random.default_rng(1).integers(0, 256, 5000).astype(np.uint8)
    assert baselines.text_bytes(binary, Bytes()) == 5000
    assert baselines.packed_bytes(binary, Bytes()) == len(lzma.compress(binary.tobytes()))
