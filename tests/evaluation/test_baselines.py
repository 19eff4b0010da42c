"""The baselines are what they say: compared with the same counting, symbol by symbol."""

import io
import tracemalloc

import numpy as np
import pytest
import soundfile

from seqkit.data.codecs import Bytes, Linear, MuLaw
from seqkit.data.corpus import Corpus, Part
from seqkit.evaluation import baselines, text_baselines


def part(symbols: list[int], *starts: int) -> Part:
    return Part(np.array(symbols, np.uint8), np.array([0, *starts], np.int64))


def counted(symbols: list[int], starts: set[int], size: int) -> float:
    """The model of the docstring, with dictionaries."""
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


@pytest.mark.parametrize("block", [1, 2, 7, 100, 1 << 20])
@pytest.mark.parametrize("largest_table", [0, 10, 100, 1 << 20])
def test_the_context_model_is_the_one_of_its_equations(
    block: int, largest_table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "_BLOCK", block)
    monkeypatch.setattr(baselines, "_LARGEST_TABLE", largest_table)
    symbols = np.random.default_rng(3).integers(0, 5, 400).tolist()
    starts = (1, 7, 8, 10, 100, 300, 399)
    expected = counted(symbols, {0, *starts}, 5)
    assert baselines.context_bits(part(symbols, *starts), 5) == pytest.approx(expected, rel=1e-12)
    within = baselines.context_bits(part(symbols, *starts), 5, block=block)  # little memory
    assert within == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("block", [7, 1000, 1 << 20])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    codec = MuLaw(256, 8000)
    symbols = np.random.default_rng(1).normal(128, 20, 5000).astype(np.uint8)
    content = io.BytesIO()
    with soundfile.SoundFile(
        content, "w", 8000, 1, "PCM_S8", format="FLAC", compression_level=1.0
    ) as file:
        file.write((symbols.astype(np.int16) - 128) << 8)
    shares = np.unique(symbols, return_counts=True)[1] / 5000
    monkeypatch.setattr(baselines, "_BLOCK", block)
    assert baselines.flac_bits(symbols, codec) == 8 * len(content.getvalue()) / 5000
    entropy = -(shares * np.log2(shares)).sum()
    assert baselines.histogram_bits(symbols, 256) == pytest.approx(entropy, rel=1e-12)


def test_memory_does_not_grow_with_the_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "_BLOCK", 1 << 14)
    codec = MuLaw(16, 8000)
    peaks = []
    for count in (1 << 15, 1 << 19):
        data = part(np.random.default_rng(1).integers(0, 16, count).tolist())
        tracemalloc.start()
        baselines.all_of(data, codec)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + (1 << 16)


def test_a_pattern_of_two_symbols_is_found() -> None:
    symbols = [0, 1, 1, 0] * 5000
    assert baselines.context_bits(part(symbols), 2) < 0.1
    assert baselines.histogram_bits(np.array(symbols, np.uint8), 2) == pytest.approx(1)


def test_flac_packs_what_it_can_predict() -> None:
    codec = MuLaw(256, 8000)
    time = np.arange(40_000) / 8000
    tone = codec.encode((0.4 * np.sin(2 * np.pi * 200 * time)).astype(np.float32))
    noise = np.random.default_rng(1).integers(0, 256, 40_000).astype(np.uint8)
    assert baselines.flac_bits(tone, codec) < 5.5
    assert 8 <= baselines.flac_bits(noise, codec) < 8.1
    wide = np.random.default_rng(1).integers(0, 65536, 40_000).astype(np.uint16)
    assert 16 <= baselines.flac_bits(wide, Linear(65536, 8000)) < 16.2


def test_what_stands_beside_a_score() -> None:
    data = part([0, 1, 2, 3] * 9)
    sound = Corpus(data, Linear(4, 8000), "name", "0" * 64, snr=12.5)
    beside = baselines.beside_score(data, sound)
    assert beside == {**baselines.all_of(data, Linear(4, 8000)), "quantiser_snr_db": 12.5}
    text = Corpus(data, Bytes(), "name", "0" * 64)
    assert baselines.beside_score(data, text) == text_baselines.all_of(data, Bytes())


@pytest.mark.parametrize("codec", [Linear(4, 8000), Bytes()])
def test_they_tell_how_far_they_are(codec: Linear | Bytes) -> None:
    data = part([0, 1, 2, 3] * 9)
    seen: list[int] = []
    baselines.beside_score(data, Corpus(data, codec, "name", "0" * 64), seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == baselines.passes(codec) * len(data)
