"""Lanes: every symbol is a target once, state and input go on where they should."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes, Window
from seqkit.foundation.errors import DataError
from seqkit.symbols import IGNORED

START = 99


def part(*lengths: int) -> Part:
    total = sum(lengths)
    starts = np.cumsum([0, *lengths[:-1]]).astype(np.int64)
    return Part(np.arange(total, dtype=np.uint16) + np.uint16(100), starts)


def column(window: Window, name: str) -> torch.Tensor:
    value = getattr(window, name)
    return torch.zeros_like(window.inputs, dtype=torch.bool) if value is None else value


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=12),
    st.integers(1, 20),
    st.integers(1, 9),
    st.sampled_from([None, 7]),
    st.sampled_from([0, 3]),
)
def test_every_symbol_is_read_once_in_each_epoch(
    lengths: list[int], batch: int, steps: int, shift_seed: int | None, idle: int
) -> None:
    assume(sum(lengths) >= 2 * steps)
    data = part(*lengths)
    lanes = Lanes(data, START, batch, steps, shift_seed)
    lanes.widen(lanes.batch_size + idle)
    for epoch in range(3):
        own = range(epoch * lanes.steps, (epoch + 1) * lanes.steps)
        read = [(window := lanes.window(step).targets)[window != IGNORED] for step in own]
        assert sorted(torch.cat(read).tolist()) == data.symbols[:].tolist()
        assert [lanes.count(step) for step in own] == [*map(len, read)]


@pytest.mark.parametrize("shift_seed", [None, 7])
@pytest.mark.parametrize("lengths", [(61,), (7, 23, 1, 30), (1,) * 60])
def test_inputs_and_state_go_on_except_at_a_document_and_a_new_epoch(
    lengths: tuple[int, ...], shift_seed: int | None
) -> None:
    data = part(*lengths)
    lanes = Lanes(data, START, 3, 4, shift_seed)
    assert lanes.has_separators == (len(lengths) > 1)
    starts = {int(data.symbols[start]) for start in data.starts}
    for epoch in range(5):
        windows = [lanes.window(epoch * lanes.steps + step) for step in range(lanes.steps)]
        fresh = [bool(window.fresh.all()) for window in windows]
        assert fresh == [True] + [False] * (lanes.steps - 1)
        for lane in range(lanes.batch_size):
            inputs, targets, resets = (
                torch.cat([column(window, name)[:, lane] for window in windows]).tolist()
                for name in ("inputs", "targets", "resets")
            )
            for place, (x, target) in enumerate(zip(inputs, targets, strict=True)):
                if target == IGNORED:
                    continue
                assert not resets[place]
                assert x == (START if target in starts else target - 1)
                if place and target not in starts:  # the state has read what stands before
                    assert targets[place - 1] == target - 1
                elif place and lanes.has_separators:  # and nothing of another document
                    assert resets[place - 1]
    shifts = {lanes.shift(epoch * lanes.steps) for epoch in range(5)}
    assert (len(shifts) > 2) == (shift_seed is not None)
    replayed = lanes.window(torch.tensor(lanes.steps), torch.tensor(lanes.shift(lanes.steps)))
    assert torch.equal(replayed.inputs, lanes.window(lanes.steps).inputs)


END = 98


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=12),
    st.integers(1, 20),
    st.integers(1, 4),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([None, 5]),
)
def test_each_document_ends_once_where_another_one_follows(
    counts: list[int], batch: int, steps: int, frame: int, shift_seed: int | None
) -> None:
    lengths = [count * frame for count in counts]
    assume(sum(lengths) >= 2 * steps * frame)
    data = dataclasses.replace(part(*lengths), frame=frame)
    lanes = Lanes(data, START, batch, steps * frame, shift_seed, END)
    windows = [lanes.window(step) for step in range(lanes.steps)]
    assert [lanes.count(step) for step in range(lanes.steps)] == [
        int((window.targets != IGNORED).sum()) for window in windows
    ]
    ring = {
        name: torch.cat([column(window, name) for window in windows]).T.flatten().tolist()
        for name in ("inputs", "targets", "resets")
    }
    targets = ring["targets"]
    read = [target for target in targets if target not in (IGNORED, END)]
    assert sorted(read) == data.symbols[:].tolist()
    lasts = sorted(ring["inputs"][place] for place, own in enumerate(targets) if own == END)
    assert lasts == (data.starts[1:] + 99).tolist()
    ends = [place for place, own in enumerate(targets) if own == END]
    assert not any(ring["resets"][place] for place in ends)
    assert all(ring["resets"][(place + 1) % len(targets)] for place in ends)


def test_a_part_of_less_than_two_windows_is_refused() -> None:
    with pytest.raises(DataError, match=r"15 symbols, fewer than two windows"):
        Lanes(part(15), START, 2, 8)
    assert Lanes(part(16), START, 4, 8).batch_size == 1


@pytest.mark.gpu
@pytest.mark.parametrize("lengths", [(61,), (7, 23, 1, 30)])
def test_a_gpu_makes_the_same_windows(lengths: tuple[int, ...]) -> None:
    host, moved = Lanes(part(*lengths), START, 3, 4), Lanes(part(*lengths), START, 3, 4)
    moved.move(torch.device("cuda"))
    for step in range(2 * host.steps):
        expected, found = host.window(step), moved.window(torch.tensor(step, device="cuda"))
        for name in ("inputs", "targets", "fresh", "resets"):
            assert torch.equal(column(expected, name), column(found, name).cpu())


@pytest.mark.parametrize("shift", [None, 3])
@pytest.mark.parametrize("documents", [[41, 60], [60]])
def test_labels_are_those_of_the_targets(documents: list[int], shift: int | None) -> None:
    symbols = np.arange(60, dtype=np.uint16)
    data = Part.of(*np.split(symbols, documents[:-1]))
    labels = np.array([[1, 2], [0, 3]])[: len(documents)]
    lanes = Lanes(dataclasses.replace(data, labels=labels), START, 3, 4, shift)
    for step in range(lanes.steps):
        window = lanes.window(step)
        labels_of = window.labels
        assert labels_of is not None
        real = window.targets != IGNORED
        targets, inputs = window.targets[real], window.inputs[real]
        of_document = (targets >= documents[0]).long()
        assert torch.equal(labels_of[real], torch.from_numpy(labels)[of_document])
        first = (targets == 0) | (targets == documents[0])
        assert (inputs == torch.where(first, START, targets - 1)).all()
