"""Lanes: every symbol is a target once, state and input go on where they should."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes, Window
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.symbols import IGNORED

START = 99


def part(*lengths: int) -> Part:
    total = sum(lengths)
    starts = np.cumsum([0, *lengths[:-1]]).astype(np.int64)
    return Part(np.arange(total, dtype=np.uint16) + np.uint16(100), starts)


def column(window: Window, name: str) -> torch.Tensor:
    value = getattr(window, name)
    return torch.zeros_like(window.inputs, dtype=torch.bool) if value is None else value


def read_once(lengths: Sequence[int], batch: int, steps: int) -> None:
    """Whether every symbol of these documents is a target once in an epoch."""
    data = part(*lengths)
    lanes = Lanes(data, START, batch, steps)
    windows = [lanes.window(step) for step in range(lanes.steps)]
    targets = np.concatenate([window.targets.ravel() for window in windows])
    assert sorted(targets[targets != IGNORED]) == data.symbols[:].tolist()
    assert [lanes.count(step) for step in range(lanes.steps)] == [
        int((window.targets != IGNORED).sum()) for window in windows
    ]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(1, 20), st.integers(1, 9))
def test_any_documents_are_read_once(lengths: list[int], batch: int, steps: int) -> None:
    assume(sum(lengths) >= 2 * steps)
    read_once(lengths, batch, steps)


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
                torch.cat([column(window, name)[:, lane] for window in epoch]).tolist()
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


@pytest.mark.parametrize("shift_seed", [None, 3])
def test_of_a_part_that_is_mapped_each_step_reads_what_it_needs(
    shift_seed: int | None, tmp_path: Path
) -> None:
    whole = part(7, 23, 1, 300)
    np.save(tmp_path / "symbols.npy", whole.symbols)
    mapped = np.asarray(np.load(tmp_path / "symbols.npy", mmap_mode="r"))
    plain = Lanes(whole, START, 3, 4, shift_seed)
    long = Lanes(dataclasses.replace(whole, symbols=mapped), START, 3, 4, shift_seed)
    for moved in (False, True):
        if moved:
            long.move(torch.device("cpu"))
        for step in range(2 * plain.steps):
            for name in ("inputs", "targets", "fresh", "resets"):
                one, other = plain.window(step), long.window(step)
                assert torch.equal(column(one, name), column(other, name))


@pytest.mark.gpu
@pytest.mark.parametrize("lengths", [(61,), (7, 23, 1, 30)])
def test_a_gpu_makes_the_same_windows(lengths: tuple[int, ...]) -> None:
    host, moved = Lanes(part(*lengths), START, 3, 4), Lanes(part(*lengths), START, 3, 4)
    moved.move(torch.device("cuda"))
    for step in range(2 * host.steps):
        expected, found = host.window(step), moved.window(torch.tensor(step, device="cuda"))
        for name in ("inputs", "targets", "fresh", "resets"):
            assert torch.equal(column(expected, name), column(found, name).cpu())


@pytest.mark.parametrize("lengths", [(60,), (61,), (7, 23, 1, 30), (10, 20, 30), (5,) * 9])
@pytest.mark.parametrize(("batch", "steps"), [(1, 5), (3, 4), (4, 10), (50, 5)])
@pytest.mark.parametrize("width", [0, 3])
def test_a_ring_has_every_symbol_once_in_each_epoch(
    lengths: tuple[int, ...], batch: int, steps: int, width: int
) -> None:
    data = part(*lengths)
    lanes = Lanes(data, START, batch, steps, shift_seed=7)
    lanes.widen(lanes.batch_size + width)
    for epoch in range(4):
        windows = [lanes.window(epoch * lanes.steps + step) for step in range(lanes.steps)]
        targets = np.concatenate([window.targets.ravel() for window in windows])
        assert sorted(targets[targets != IGNORED]) == data.symbols[:].tolist()
        assert [lanes.count(epoch * lanes.steps + step) for step in range(lanes.steps)] == [
            int((window.targets != IGNORED).sum()) for window in windows
        ]


@pytest.mark.parametrize("lengths", [(61,), (7, 23, 1, 30), (1,) * 60])
def test_a_ring_goes_on_as_the_data_does_and_begins_elsewhere_in_every_epoch(
    lengths: tuple[int, ...],
) -> None:
    data = part(*lengths)
    lanes = Lanes(data, START, 3, 4, shift_seed=7)
    starts = {int(data.symbols[start]) for start in data.starts}
    for epoch in range(5):
        windows = [lanes.window(epoch * lanes.steps + step) for step in range(lanes.steps)]
        assert [bool(window.fresh.all()) for window in windows] == [True] + [False] * (
            lanes.steps - 1
        )
        for lane in range(lanes.batch_size):
            inputs, targets, resets = (
                torch.cat([column(window, name)[:, lane] for window in windows]).tolist()
                for name in ("inputs", "targets", "resets")
            )
            for place, (x, target) in enumerate(zip(inputs, targets, strict=True)):
                if target == IGNORED:
                    assert resets[place] == lanes.has_separators
                else:
                    assert not resets[place]
                    assert x == (START if target in starts else target - 1)
                    # Nothing of the document before is in the state that meets a first symbol.
                    if target in starts and place and lanes.has_separators:
                        assert resets[place - 1]
    assert len({lanes.shift(epoch * lanes.steps) for epoch in range(5)}) > 2
    shift = torch.tensor(lanes.shift(lanes.steps))
    replayed = lanes.window(torch.tensor(lanes.steps), shift)
    assert torch.equal(replayed.inputs, lanes.window(lanes.steps).inputs)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("processes", [1, 2, 4, 5])
def test_shares_side_by_side_are_the_whole(processes: int, shifted: bool) -> None:
    def lanes() -> Lanes:
        return Lanes(part(7, 23, 61, 90), START, 5, 4, shift_seed=3 if shifted else None)

    whole = lanes()
    shares = [lanes() for _ in range(processes)]
    for rank, share in enumerate(shares):
        share.share_out(rank, processes)
        assert share.steps == whole.steps
        assert share.widest == -(-5 // processes)
    for step in (0, 1, whole.steps + 2):
        assert {share.count(step) for share in shares} == {whole.count(step)}
        windows = [share.window(step) for share in shares]
        for name in ("inputs", "targets", "resets", "fresh"):
            parts = [column(window, name) for window in windows]
            assert torch.equal(torch.cat(parts, dim=-1), column(whole.window(step), name))


def test_more_processes_than_lanes_are_refused() -> None:
    with pytest.raises(ConfigError, match="4 processes cannot share 3"):
        Lanes(part(200), START, 3, 4).share_out(0, 4)


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


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("lengths", [(61,), (7, 23, 1, 30)])
def test_windows_are_made_of_what_is_read_for_a_step(
    lengths: tuple[int, ...], seed: int | None, device: str
) -> None:
    expected, lanes = (Lanes(part(*lengths), START, 3, 4, seed) for _ in range(2))
    for own in (expected, lanes):
        own.share_out(1, 2)
        own.widen(5)
    lanes.make_windows_on(torch.device(device))
    for step in (0, 1, 2, 2, *range(7, 30), 5):
        read = lanes.fetch(step).to(device)
        window = lanes.window(torch.tensor(step), torch.tensor(lanes.shift(step)), read)
        for name in ("inputs", "targets", "fresh", "resets"):
            found = column(window, name)
            assert found.device.type == device
            assert torch.equal(column(expected.window(step), name), found.cpu())
