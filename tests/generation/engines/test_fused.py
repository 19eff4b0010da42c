"""The fused kernel: its packing on any machine, its steps and draws on a GPU."""

import dataclasses

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.errors import ConfigError, DeviceError
from seqkit.generation.engines import fused
from seqkit.generation.engines.fused import FusedEngine, Weights, lay_out
from seqkit.generation.sampling import Sampling
from seqkit.model import cells
from tests.generation.engines.networks import (
    RULES,
    check_draws,
    check_frequencies,
    differences,
    flat,
    network,
    random_state,
)

H200 = (132, 227 * 1024)  # multiprocessors, bytes of shared memory a block


@pytest.mark.parametrize(
    ("layers", "hidden", "size", "streams"),
    [(1, 32, 2, 1), (2, 512, 65, 1), (3, 1024, 256, 1), (2, 384, 1024, 4), (8, 96, 30, 2)],
)
def test_plans_cover_the_network(layers: int, hidden: int, size: int, streams: int) -> None:
    config = ModelConfig(num_layers=layers, hidden_size=hidden)
    plan = lay_out(config, size, streams, *H200)
    assert hidden == plan.BLOCKS * plan.TILES * 4
    assert hidden == plan.WARPS * plan.KTILES * 16
    assert size <= plan.BLOCKS * plan.HEAD_TILES * 16
    assert H200[0] >= plan.BLOCKS
    assert plan.shared <= H200[1]
    assert plan.threads <= 1024


@pytest.mark.parametrize(
    ("changes", "size", "streams", "word"),
    [
        ({"cell": "gru"}, 65, 1, "lstm"),
        ({"hidden_size": 40}, 65, 1, "multiple of 32"),
        ({"num_layers": 9}, 65, 1, "8 layers"),
        ({}, 1025, 1, "1024 symbols"),
        ({}, 65, 5, "4 streams"),
        ({"backend": "unrolled", "cell_clip": 3.0}, 65, 1, "cell_clip"),
    ],
)
def test_what_it_is_not_made_for_is_refused(
    changes: dict[str, object], size: int, streams: int, word: str
) -> None:
    with pytest.raises(ConfigError, match=word):
        lay_out(ModelConfig(**changes), size, streams, *H200)  # type: ignore[arg-type]


def test_a_network_too_large_is_refused() -> None:
    with pytest.raises(DeviceError, match="too large"):
        lay_out(ModelConfig(hidden_size=1024), 65, 1, 16, H200[1])


def test_it_needs_a_gpu() -> None:
    with pytest.raises(DeviceError, match="needs a GPU"):
        FusedEngine(network(1, 32, 5), 5, 1)


def test_the_tensor_cores_would_find_every_weight() -> None:
    """The products of mma.m16n8k16, worked out by hand, are those of the matrices."""
    model = network(2, 96, 40)
    plan = lay_out(model.config, 40, 1, *H200)
    packed = Weights(model, plan).fragments.float()  # (BLOCKS, WARPS, fragments, lanes, 8)
    h = torch.rand(96, generator=torch.Generator().manual_seed(4)).half().float()
    # Register (half, high) of lane 4g + j: row g + 8 high, columns 4j + 2 half and the next.
    shape = (plan.BLOCKS, plan.WARPS, -1, plan.TILES, plan.KTILES, 8, 4, 2, 2, 2)
    assert plan.HEAD_TILES == plan.TILES == 1
    columns = h.reshape(plan.WARPS, 1, 1, plan.KTILES, 1, 4, 2, 1, 2)
    sums = (packed.reshape(shape) * columns).sum((1, 4, 6, 7, 9))  # (BLOCKS, matrices, tiles, 8, 2)
    rows = sums.transpose(-1, -2).flatten(-2)  # (BLOCKS, matrices, tiles, 16)
    layers = [cells.weights_of(layer) for layer in model.layers]
    units = rows.permute(1, 0, 2, 3).reshape(-1, 24 * 4, 4).transpose(1, 2).flatten(1)
    for index, matrix in ((0, layers[1].w), (2, layers[0].u), (3, layers[1].u)):
        torch.testing.assert_close(units[index], matrix.half().float() @ h)
    head = rows[:, 1].flatten()
    torch.testing.assert_close(head[:40], model.head.weight.half().float() @ h)
    assert not head[40:].any()


SHAPES = [(1, 32, 5, 1), (1, 64, 33, 2), (2, 64, 65, 1), (3, 96, 300, 3), (2, 512, 65, 1)]


@pytest.mark.gpu
@pytest.mark.parametrize(("layers", "hidden", "size", "streams"), SHAPES)
def test_logits_are_the_models(layers: int, hidden: int, size: int, streams: int) -> None:
    model = network(layers, hidden, size, embedding=streams == 2, device="cuda")
    engine = FusedEngine(model, size, streams)
    logits, state = differences(engine, model, size, streams, steps=500)
    assert logits < 0.05
    assert state < 0.01


@pytest.mark.gpu
def test_10000_steps() -> None:
    model = network(2, 256, 65, device="cuda")
    logits, state = differences(FusedEngine(model, 65, 1), model, 65, 1, 10_000)
    assert logits < 0.05
    assert state < 0.01


@pytest.mark.gpu
@pytest.mark.parametrize("sampling", RULES)
@pytest.mark.parametrize(("layers", "hidden", "size", "streams"), SHAPES[1:])
def test_symbols_are_drawn_by_the_rule(
    layers: int, hidden: int, size: int, streams: int, sampling: Sampling
) -> None:
    model = network(layers, hidden, size, device="cuda")
    check_draws(FusedEngine(model, size, streams), model, streams, 300, sampling)


@pytest.mark.gpu
@pytest.mark.parametrize("sampling", [Sampling(0.9), Sampling(top_k=6), Sampling(1.1, top_p=0.7)])
def test_draws_follow_the_probabilities(sampling: Sampling) -> None:
    model = flat(40, "cuda")
    check_frequencies(FusedEngine(model, 40, 4), model, 4, sampling)


@pytest.mark.gpu
def test_a_block_goes_on_where_the_last_one_ended() -> None:
    model = network(2, 64, 33, device="cuda")
    engine, state = FusedEngine(model, 33, 1), random_state(model, 1)
    first, draws = np.zeros(1, np.int64), np.random.default_rng(3).random((150, 1))

    def text(*cuts: int) -> list[int]:
        blocks = np.split(draws, cuts)
        drawn = np.concatenate(list(engine.sample(first, state, blocks, Sampling())))
        return drawn.ravel().tolist()

    assert text() == text() == text(1, 4, 20, 100) == text(64, 128)


@pytest.mark.gpu
def test_blocks_that_wait_in_vain_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    model = network(1, 64, 33, device="cuda")
    engine = FusedEngine(model, 33, 1)
    monkeypatch.setattr(fused, "_PATIENCE", 5000)
    whole = engine._plan
    engine._plan = dataclasses.replace(whole, BLOCKS=whole.BLOCKS - 1)  # one of them never comes
    with pytest.raises(DeviceError, match="in vain"):
        engine.score(np.zeros((4, 1), np.int64), model.zero_state(1))


@pytest.mark.gpu
def test_a_long_stream_stays_finite() -> None:
    """A million steps, past the 65536 after which the words' numbers repeat."""
    model = network(1, 32, 17, device="cuda")
    engine, state = FusedEngine(model, 17, 1), random_state(model, 1)
    generator = np.random.default_rng(3)
    blocks = (generator.random((8192, 1)) for _ in range(122))
    counts = np.zeros(17, np.int64)
    for drawn in engine.sample(np.zeros(1, np.int64), state, blocks, Sampling(seed=2)):
        counts += np.bincount(drawn.ravel(), minlength=17)
    assert counts.sum() == 122 * 8192
    _, after = engine.score(np.zeros((3, 1), np.int64), state)
    assert all(values.isfinite().all() for values in after)
