"""The baselines are what they say: compared with the same counting, symbol by symbol."""

import lzma
import tracemalloc
from collections import defaultdict

import numpy as np
import pytest

from seqkit.data.codecs import Bytes, Characters
from seqkit.data.corpus import Part
from seqkit.evaluation import text_baselines
from tests.conftest import SENTENCE


def counted(symbols: list[int], starts: set[int], size: int) -> float:
    """The model of the docstring, with dictionaries."""
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


@pytest.mark.parametrize("size", [2, 5, 1_114_112])
def test_the_ngram_model_is_the_one_of_its_equations(size: int) -> None:
    symbols = np.random.default_rng(3).integers(0, min(size, 5), 400).tolist()
    starts = [0, 1, 7, 8, 10, 100, 300, 399]
    part = Part(np.array(symbols, np.uint32), np.array(starts))
    expected = counted(symbols, set(starts), size)
    assert text_baselines.ngram_bits(part, size) == pytest.approx(expected, rel=1e-9)


def test_it_starts_anew_after_so_many_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    symbols = np.random.default_rng(3).integers(0, 3, 100).tolist()
    part = Part(np.array(symbols, np.uint8), np.array([0, 20, 64, 70]))
    monkeypatch.setattr(text_baselines, "_INDEX_BITS", 5)
    monkeypatch.setattr(text_baselines, "_MOST", 32)
    pieces = [(0, 32, {0, 20}), (32, 64, {0}), (64, 96, {0, 6}), (96, 100, {0})]
    bits = sum((end - begin) * counted(symbols[begin:end], at, 3) for begin, end, at in pieces)
    assert text_baselines.ngram_bits(part, 3) == pytest.approx(bits / 100, rel=1e-9)


def test_it_learns_a_sentence() -> None:
    codec = Characters.from_text(SENTENCE)
    part = Part.of(codec.encode(SENTENCE * 200))
    assert text_baselines.ngram_bits(part, codec.size) < 0.15


def test_xz_packs_the_text_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_baselines, "_PIECE", 100)
    text = "naïve – ☃ 𝄞 " * 30
    codec = Characters.from_text(text)
    symbols = codec.encode(text)
    assert text_baselines.text_bytes(symbols, codec) == len(text.encode())
    assert text_baselines.packed_bytes(symbols, codec) == len(lzma.compress(text.encode()))
    binary = np.random.default_rng(1).integers(0, 256, 5000).astype(np.uint8)
    assert text_baselines.text_bytes(binary, Bytes()) == 5000
    assert text_baselines.packed_bytes(binary, Bytes()) == len(lzma.compress(binary.tobytes()))


def test_all_of_them_tell_how_far_they_are() -> None:
    codec = Characters.from_text(SENTENCE)
    part = Part.of(codec.encode(SENTENCE * 20))
    seen: list[int] = []
    found = text_baselines.all_of(part, codec, seen.append)
    assert list(found) == ["ngram_bits", "xz_bits"]
    assert seen == sorted(seen)
    assert seen[-1] == 2 * len(part)


def test_memory_does_not_grow_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_baselines, "_INDEX_BITS", 14)
    monkeypatch.setattr(text_baselines, "_MOST", 1 << 14)
    monkeypatch.setattr(text_baselines, "_PIECE", 1 << 14)
    peaks = []
    for count in (1 << 15, 1 << 18):
        part = Part.of(np.random.default_rng(1).integers(0, 16, count).astype(np.uint8))
        tracemalloc.start()
        text_baselines.all_of(part, Bytes())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + (1 << 16)
