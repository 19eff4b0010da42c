"""The baselines are what they say, and take no more memory for more data."""

import io
import lzma
from collections import defaultdict

import numpy as np
import pytest
import soundfile

from seqkit.data.codecs import Bytes, Characters, Linear, MuLaw
from seqkit.data.corpus import Part
from seqkit.evaluation import baselines
from seqkit.evaluation.baselines import context_bits, ngram_bits

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
    wide = np.random.default_rng(1).integers(0, 65536, 40_000).astype(np.uint16)
    assert 16 <= baselines.flac_bits(wide, Linear(65536, 8000)) < 16.2


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


def part(symbols: list[int], *starts: int) -> Part:
    return Part(np.array(symbols, np.uint32), np.array(starts or [0], np.int64))


def context_counted(symbols: list[int], starts: set[int], size: int) -> float:
    """The model of `context_bits`, with dictionaries."""
    counts: dict[tuple[int, ...], int] = {}
    bits = 0.0
    for place, now in enumerate(symbols):
        one = size if place in starts else symbols[place - 1]
        two = size if place in starts or place - 1 in starts else symbols[place - 2]
        p = (counts.get((now,), 0) + 1 / size) / (place + 1)
        for context in ((one, -1), (two, one, -1)):
            seen = (*context[:-1], now, -2)
            p = (counts.get(seen, 0) + 64 * p) / (counts.get(context, 0) + 64)
            counts[seen] = counts.get(seen, 0) + 1
            counts[context] = counts.get(context, 0) + 1
        counts[(now,)] = counts.get((now,), 0) + 1
        bits -= np.log2(p)
    return bits / len(symbols)


def ngram_counted(symbols: list[int], starts: set[int], size: int) -> float:
    """The model of `ngram_bits`, with dictionaries."""
    followers: dict[tuple[int, ...], dict[int, int]] = defaultdict(dict)
    bits, document = 0.0, 0
    for place, now in enumerate(symbols):
        document = place if place in starts else document
        context = [size] * 5 + symbols[document:place]
        contexts = [tuple(context[len(context) - order :]) for order in range(6)]
        p, seen_in_longer = 1 / size, True
        for one in contexts:
            seen = followers[one]
            if total := sum(seen.values()):
                own = max(seen.get(now, 0) - 0.85, 0)
                p = (own + 0.85 * len(seen) * p) / total
        bits -= np.log2(p)
        for one in reversed(contexts):
            seen_before = now in followers[one]
            if seen_in_longer:  # a shorter context counts the longer ones that the symbol is new in
                followers[one][now] = followers[one].get(now, 0) + 1
            seen_in_longer = not seen_before
    return bits / len(symbols)


@pytest.mark.parametrize("size", [5, 1_114_112])
def test_they_are_those_of_their_equations(size: int) -> None:
    whole, starts = part(SYMBOLS, *STARTS), set(STARTS)
    assert ngram_bits(whole, size) == pytest.approx(ngram_counted(SYMBOLS, starts, size), rel=1e-9)
    expected = context_counted(SYMBOLS, starts, size)
    assert context_bits(whole, size) == pytest.approx(expected, rel=1e-9)


def test_they_start_anew_after_so_many_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    symbols = [symbol % 3 for symbol in SYMBOLS[:100]]
    monkeypatch.setattr(baselines, "_INDEX_BITS", 5)
    monkeypatch.setattr(baselines, "_MOST", 32)
    pieces = [(0, 32, {0, 20}), (32, 64, {0}), (64, 96, {0, 6}), (96, 100, {0})]
    for bits, counted in ((ngram_bits, ngram_counted), (context_bits, context_counted)):
        expected = sum(
            (end - at) * counted(symbols[at:end], starts, 3) for at, end, starts in pieces
        )
        assert bits(part(symbols, 0, 20, 64, 70), 3) == pytest.approx(expected / 100, rel=1e-9)
