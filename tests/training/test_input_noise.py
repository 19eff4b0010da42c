"""Symbols are read as others as often as asked for, the same for the same seed and step."""

import pytest
import torch
from torch import Tensor

from seqkit.data.lanes import Window
from seqkit.training.input_noise import InputNoise

T, B, V, HELD = 40, 3000, 100, 8
CPU = torch.device("cpu")


def window(lanes: int = B, device: torch.device = CPU) -> Window:
    symbols = torch.full((T, lanes), 50)
    labels = torch.tensor([4, 2]).expand(T, lanes, 2)
    parts = (symbols, symbols, torch.zeros(lanes, dtype=torch.bool), labels)
    inputs, targets, fresh, of_documents = (part.to(device) for part in parts)
    return Window(inputs, targets, fresh, None, of_documents)


def read(
    share: float, step: int, seed: int = 5, first: int = 0, lanes: int = B, device: str = "cpu"
) -> Window:
    noise = InputNoise(share, V, seed, torch.device(device), first)
    noise.set_step(step)
    return noise(window(lanes, torch.device(device)))


def test_a_share_is_drawn_from_all_symbols_and_targets_stay_right() -> None:
    found = read(0.3, step=9)
    assert torch.equal(found.targets, window().targets)
    counts = found.inputs.flatten().bincount(minlength=V).float()
    assert len(counts) == V
    wrong = counts / counts.sum()
    others = torch.cat([wrong[:50], wrong[51:]])
    assert float(others.sum()) == pytest.approx(0.3 * 99 / 100, abs=0.005)
    assert others.min() > 0.002  # of 0.003 each
    assert others.max() < 0.004
    beside = found.inputs != 50
    together = (beside[1:] & beside[:-1]).float().mean()  # of two symbols one after the other
    assert float(together) == pytest.approx((0.3 * 0.99) ** 2, abs=0.005)


def test_what_is_drawn_is_of_the_step_and_of_the_lane() -> None:
    whole = read(0.3, 9).inputs
    assert torch.equal(whole, read(0.3, 9).inputs)
    assert not torch.equal(whole, read(0.3, 9, seed=6).inputs)
    assert not torch.equal(whole, read(0.3, 10).inputs)
    share = read(0.3, 9, first=1000, lanes=50).inputs  # of another process
    assert torch.equal(share, whole[:, 1000:1050])


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_tenth_of_the_lanes_reads_no_labels(share: float) -> None:
    def labels_of(step: int, first: int = 0, lanes: int = B) -> Tensor:
        labels = read(share, step, first=first, lanes=lanes).labels
        assert labels is not None
        assert (labels == labels[0]).all()
        of_lanes: Tensor = labels[0]
        return of_lanes

    labels = labels_of(HELD)
    assert {*map(tuple, labels.tolist())} == {(0, 0), (4, 2)}
    assert (labels == 0).float().mean() == pytest.approx(0.1, abs=0.02)
    assert torch.equal(labels, labels_of(2 * HELD - 1))
    assert not torch.equal(labels, labels_of(2 * HELD))
    assert torch.equal(labels[1001:1100], labels_of(HELD, first=1001, lanes=99))


@pytest.mark.gpu
def test_a_gpu_reads_the_same() -> None:
    for step in (0, 1, 7):
        here, there = (read(0.3, step, device=device) for device in ("cpu", "cuda"))
        assert torch.equal(here.inputs, there.inputs.cpu())
        assert here.labels is not None
        assert there.labels is not None
        assert torch.equal(here.labels, there.labels.cpu())
