"""The baselines are what they say, and take no more memory for more data."""

import io
import lzma

import numpy as np
import pytest
import soundfile

from seqkit.data.codecs import Bytes, Characters, Linear, MuLaw
from seqkit.data.corpus import Part
from seqkit.evaluation import baselines
from seqkit.evaluation.baselines import bigram_bits

SYMBOLS = np.random.default_rng(3).integers(0, 5, 400).tolist()
STARTS = [0, 1, 7, 8, 10, 100, 300, 399]


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


@pytest.mark.parametrize("size", [5, 1_114_112])
def test_a_table_of_pairs_costs_what_it_says_symbol_by_symbol(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "_BLOCK", 150)  # symbols, after which it starts anew
    bits, followers = 0.0, dict[tuple[int, int], int]()
    for place, now in enumerate(SYMBOLS):
        if place % 150 == 0:
            followers.clear()
        before = size if place in STARTS or place % 150 == 0 else SYMBOLS[place - 1]
        total = sum(n for (context, _), n in followers.items() if context == before)
        seen = followers.get((before, now), 0)
        bits -= np.log2((seen + 8 / size) / (total + 8))
        followers[before, now] = seen + 1
    part = Part(np.array(SYMBOLS, np.uint32), np.array(STARTS, np.int64))
    assert bigram_bits(part, size) == pytest.approx(bits / len(SYMBOLS), rel=1e-9)
