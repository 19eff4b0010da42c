"""What a step leaves out or reads otherwise is a function of its number, in given shares."""

import pytest
import torch
from torch import Tensor

from seqkit.config import ModelConfig, TrainConfig
from seqkit.data.lanes import Window
from seqkit.training import noise
from seqkit.training.noise import Noise, dropout_keys, dropout_masks

T, B, V, HELD = 40, 3000, 100, 8
CPU = torch.device("cpu")


def window(lanes: int = B, device: torch.device = CPU) -> Window:
    symbols = torch.full((T, lanes), 50)
    labels = torch.tensor([4, 2]).expand(T, lanes, 2)
    parts = (symbols, symbols, torch.zeros(lanes, dtype=torch.bool), labels)
    inputs, targets, fresh, of_documents = (part.to(device) for part in parts)
    return Window(inputs, targets, fresh, None, of_documents)


def masks(step: int = 3, reset: float = 0.0, first: int = 0, **model: object) -> Noise:
    config = ModelConfig(
        **{"num_layers": 3, "hidden_size": 40, "vocabulary_size": 9, **model}  # type: ignore[arg-type]
    )
    made = Noise(config, TrainConfig(reset_state=reset), 5, CPU, first)
    made.set_step(step)
    return made


def share(mask: torch.Tensor) -> float:
    return float((mask == 0).float().mean())


@pytest.mark.parametrize("layers", [1, 3])
def test_the_top_layer_may_have_a_share_of_its_own(layers: int) -> None:
    units = masks(num_layers=layers, dropout=0.2, output_dropout=0.6).units(400, torch.float32)
    assert units is not None
    assert [share(mask) for mask in units] == pytest.approx([0.2] * (layers - 1) + [0.6], abs=0.02)
    alone = masks(output_dropout=0.6).units(400, torch.float32)
    assert alone is not None
    assert [share(mask) for mask in alone] == pytest.approx([0, 0, 0.6], abs=0.02)


def test_inputs_weights_and_states_are_dropped_with_their_shares() -> None:
    made = masks(
        reset=0.25, input="embedding", embedding_size=30, input_dropout=0.4, weight_drop=0.7
    )
    inputs, weights = made.inputs(100, torch.float32), made.weights()
    state_resets = made.fresh(window(4000))
    assert inputs is not None
    assert inputs.shape == (100, 30)
    assert share(inputs) == pytest.approx(0.4, abs=0.03)
    assert weights is not None
    assert weights.shape == (3, 160, 40)
    assert [share(mask) for mask in weights] == pytest.approx([0.7] * 3, abs=0.03)
    assert not torch.equal(weights[0], weights[1])
    assert float(state_resets.float().mean()) == pytest.approx(0.25, abs=0.03)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("shape", [(1,), (7, 3), (25, 512), (2048, 512)])
def test_a_gpu_makes_the_same_to_the_bit(
    shape: tuple[int, ...], rate: float, dtype: torch.dtype
) -> None:
    keys = torch.from_numpy(dropout_keys(5, 3, 3))
    expected = dropout_masks(keys, shape, rate, dtype)
    assert torch.equal(noise.masks(keys.cuda(), shape, rate, dtype).cpu(), expected)


def dropout_mask(
    seed: int, step: int, layer: int, shape: tuple[int, ...], rate: float
) -> torch.Tensor:
    """The mask of one layer."""
    keys = torch.from_numpy(dropout_keys(seed, step, layer + 1))
    return dropout_masks(keys, shape, rate, torch.float32)[layer]


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
def test_a_mask_drops_its_share_and_keeps_the_mean(rate: float) -> None:
    mask = dropout_mask(3, 5, 1, (100, 2000), rate)
    assert abs(float((mask == 0).float().mean()) - rate) < 0.005
    assert torch.unique(mask).tolist() == pytest.approx([0, 1 / (1 - rate)])


def test_a_mask_is_a_function_of_seed_step_and_layer() -> None:
    def mask(seed: int, step: int, layer: int) -> torch.Tensor:
        return dropout_mask(seed, step, layer, (50_001,), 0.5) - 1

    assert torch.equal(mask(1, 2, 3), mask(1, 2, 3))
    keys = [(1, 2, 3), (2, 2, 3), (1, 3, 3), (1, 2, 4), (2, 1, 3), (2**40, 2, 3), (1, 2**33, 3)]
    for index, first in enumerate(keys):
        for second in keys[:index]:
            assert abs(float((mask(*first) * mask(*second)).mean())) < 0.02, (first, second)


def test_neighbours_in_a_mask_are_independent() -> None:
    mask = dropout_mask(1, 2, 0, (100_000,), 0.5) - 1
    for distance in (1, 2, 3, 16, 64):
        assert abs(float((mask[distance:] * mask[:-distance]).mean())) < 0.015


def read(
    share: float, step: int, seed: int = 5, first: int = 0, lanes: int = B, device: str = "cpu"
) -> Window:
    config = ModelConfig(vocabulary_size=V, input="embedding", labels=[4, 2])
    made = Noise(config, TrainConfig(input_noise=share), seed, torch.device(device), first)
    made.set_step(step)
    return made.read(window(lanes, torch.device(device)))


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
