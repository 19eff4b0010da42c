"""Every protocol counts every symbol once, and never looks across the start of a document."""

import numpy as np
import pytest

from seqkit.data.corpus import Part
from seqkit.evaluation import scoring
from seqkit.symbols import Integers

LENGTHS = [(1,), (300,), (20_000, 1, 256, 255, 9000), (3,) * 80]


def part(lengths: tuple[int, ...]) -> Part:
    starts = np.cumsum([0, *lengths[:-1]]).astype(np.int64)
    return Part(np.zeros(sum(lengths), np.uint8), starts)


def check(data: Part, segments: Integers) -> None:
    counts = np.zeros(len(data), np.int64)
    ends = [*data.starts[1:].tolist(), len(data)]
    for warm, begin, end in segments.tolist():
        counts[begin:end] += 1
        document = int(np.searchsorted(data.starts, warm, side="right")) - 1
        assert data.starts[document] <= warm <= begin < end <= ends[document]
    assert (counts == 1).all()


@pytest.mark.parametrize("lengths", LENGTHS)
def test_every_symbol_counts_once(lengths: tuple[int, ...]) -> None:
    data = part(lengths)
    for segments in (
        scoring.streaming(data),
        scoring.windowed(data, 7),
        scoring.windowed(data, 10**6),
        scoring.warmed(data),
    ):
        check(data, segments)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("symbols", [1, 200, 600, 17_000])
def test_what_is_spread_counts_so_many_symbols_once(lengths: tuple[int, ...], symbols: int) -> None:
    data, symbols = part(lengths), min(symbols, sum(lengths))
    counts = np.zeros(len(data), np.int64)
    segments = scoring.spread(data, symbols)
    for warm, begin, end in segments.tolist():
        counts[begin:end] += 1
        assert warm == max(begin - scoring.WARM, data.starts[data.starts <= begin][-1])
        assert begin < end <= min([*data.starts[data.starts > begin], len(data)])
    assert counts.max() == 1
    assert symbols - scoring.LANES < counts.sum() <= symbols
    if symbols >= 600 < len(data):
        assert all(half.any() for half in np.array_split(counts, 2))
