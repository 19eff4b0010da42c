"""Lanes: every symbol is a target once, state and input go on where they should."""

import numpy as np
import pytest

from seqkit.codecs import Bytes
from seqkit.corpus import IGNORED, Corpus, Lanes, Part
from seqkit.errors import DataError

START = 99


def part(*lengths: int) -> Part:
    total = sum(lengths)
    starts = np.cumsum([0, *lengths[:-1]]).astype(np.int64)
    return Part(np.arange(total, dtype=np.uint16) + 100, starts)


@pytest.mark.parametrize("lengths", [(60,), (61,), (7, 23, 1, 30), (10, 20, 30), (5,) * 9])
@pytest.mark.parametrize(("batch", "steps"), [(1, 5), (3, 4), (4, 10), (50, 5)])
def test_every_symbol_is_a_target_exactly_once(
    lengths: tuple[int, ...], batch: int, steps: int
) -> None:
    data = part(*lengths)
    lanes = Lanes(data, START, batch, steps)
    targets = np.concatenate([lanes.window(step).targets.ravel() for step in range(lanes.steps)])
    assert sorted(targets[targets != IGNORED]) == data.symbols.tolist()
    counts = [lanes.window(step).count for step in range(lanes.steps)]
    assert sum(counts) == len(data)


@pytest.mark.parametrize("lengths", [(61,), (7, 23, 1, 30), (1,) * 60])
def test_inputs_and_state_go_on_except_at_a_document_and_a_new_epoch(
    lengths: tuple[int, ...],
) -> None:
    data = part(*lengths)
    lanes = Lanes(data, START, 3, 4)
    assert lanes.has_separators == (len(lengths) > 1)
    starts = {int(data.symbols[start]) for start in data.starts}
    windows = [lanes.window(step) for step in range(2 * lanes.steps)]
    assert [window.fresh.all() for window in windows] == [
        step % lanes.steps == 0 for step in range(2 * lanes.steps)
    ]
    for epoch in (windows[: lanes.steps], windows[lanes.steps :]):
        for lane in range(lanes.batch_size):
            inputs, targets, resets = (
                np.concatenate([getattr(window, name)[:, lane] for window in epoch]).tolist()
                for name in ("inputs", "targets", "resets")
            )
            before = None  # the symbol of the last step, as the state remembers it
            for x, target, reset in zip(inputs, targets, resets, strict=True):
                if target == IGNORED:
                    before = None
                    continue
                assert not reset
                assert x == (START if target in starts else target - 1)
                assert before is None or before == x
                before = target if target + 1 not in starts else None
                if target + 1 in starts and (target + 1 - 100) < len(data):
                    assert_separated(targets, resets, target)


def assert_separated(targets: list[int], resets: list[bool], last: int) -> None:
    """A reset, with no target, follows the last symbol of a document, unless the lane ends."""
    place = targets.index(last) + 1
    if place < len(targets):
        assert targets[place] == IGNORED
        assert resets[place]


def test_a_part_of_less_than_two_windows_is_refused() -> None:
    with pytest.raises(DataError, match=r"15 symbols, fewer than two windows"):
        Lanes(part(15), START, 2, 8)
    assert Lanes(part(16), START, 4, 8).batch_size == 1


def test_a_short_part_has_fewer_lanes_and_none_is_idle() -> None:
    lanes = Lanes(part(24 * 10), START, 32, 10)
    assert (lanes.batch_size, lanes.steps) == (3, 8)
    assert all(lanes.window(step).count == 30 for step in range(8))


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        ([0.9, 0.1, 0.0], (90, 11, 0)),
        ([1.0, 0.0, 0.0], (101, 0, 0)),
        ([0.5, 0.0, 0.5], (50, 0, 51)),
        ([0.6, 0.2, 0.2], (60, 20, 21)),
    ],
)
def test_a_corpus_is_split_by_position(split: list[float], sizes: tuple[int, ...]) -> None:
    corpus = Corpus(part(40, 61), Bytes(), "name", "0" * 64)
    parts = corpus.split(split)
    assert tuple(map(len, parts)) == sizes
    assert np.concatenate([p.symbols for p in parts]).tolist() == corpus.whole.symbols.tolist()
    for piece in parts:
        assert piece.starts[:1].tolist() == ([0] if len(piece) else [])
    assert parts[0].starts.tolist() == [0, 40]
