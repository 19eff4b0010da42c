"""The fused engine: its steps and draws."""

import dataclasses

import numpy as np
import pytest
import torch

from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.generation.engine import Drawing
from seqkit.generation.engines import fused
from seqkit.generation.engines.cuda_graph import CudaGraphEngine
from seqkit.generation.engines.fused import FusedEngine
from seqkit.generation.engines.fused_layout import Layout
from seqkit.generation.engines.fused_many_layout import ManyLayout
from seqkit.generation.sampling import Sampling, draw
from tests.generation.engines.networks import RULES, check_draws, differences, network, random_state


def test_it_needs_a_gpu() -> None:
    with pytest.raises(DeviceError, match="needs a GPU"):
        FusedEngine(network(1, 32, 5), 5, 1)


SHAPES = [
    *[(1, 32, 5, 1), (1, 64, 33, 2), (2, 64, 65, 1), (3, 96, 300, 3), (2, 512, 65, 1)],
    # many streams: one group of 16, several tiles, weights and symbols that are exchanged
    *[(1, 32, 5, 5), (2, 512, 65, 16), (2, 64, 65, 17), (2, 96, 300, 200), (3, 1024, 256, 64)],
]


@pytest.mark.gpu
@pytest.mark.parametrize(("layers", "hidden", "size", "streams"), SHAPES)
def test_logits_are_the_models(layers: int, hidden: int, size: int, streams: int) -> None:
    model = network(layers, hidden, size, embedding=streams == 2, device="cuda")
    engine = FusedEngine(model, size, streams)
    logits, state = differences(engine, model, size, streams, steps=500)
    assert logits < 0.05
    assert state < 0.01


@pytest.mark.gpu
@pytest.mark.parametrize(("layers", "hidden", "size", "streams"), SHAPES)
def test_skip_connections_are_known(layers: int, hidden: int, size: int, streams: int) -> None:
    model = network(layers, hidden, size, device="cuda", skips=True)
    engine = FusedEngine(model, size, streams)
    logits, state = differences(engine, model, size, streams, steps=300)
    assert logits < 0.05 * layers
    assert state < 0.01
    # The logits of several layers add up: at a temperature of 1 little would be left to chance.
    check_draws(engine, model, streams, 200, Sampling(2.0, seed=3))


@pytest.mark.gpu
@pytest.mark.parametrize(("layers", "hidden", "size", "streams"), SHAPES)
@pytest.mark.parametrize("labels", [0, 3])
def test_conditions_are_read(
    layers: int, hidden: int, size: int, streams: int, labels: int
) -> None:
    model = network(
        layers, hidden, size, embedding=True, device="cuda", conditions=40, labels=labels
    )
    engine = FusedEngine(model, size, streams)
    logits, state = differences(engine, model, size, streams, steps=300)
    assert logits < 0.05
    assert state < 0.01
    check_draws(engine, model, streams, 300, Sampling(seed=3))


@pytest.mark.gpu
@pytest.mark.parametrize("conditions", [0, 40])
@pytest.mark.parametrize("lookback", [1, 6, 160])
@pytest.mark.parametrize(
    ("layers", "hidden", "size", "streams"), [(1, 384, 256, 1), (2, 64, 33, 2), (2, 96, 300, 4)]
)
def test_a_linear_prediction_is_read(
    layers: int, hidden: int, size: int, streams: int, lookback: int, conditions: int
) -> None:
    model = network(
        *(layers, hidden, size),
        embedding=True,
        device="cuda",
        conditions=conditions,
        lookback=lookback,
    )
    engine = FusedEngine(model, size, streams)
    logits, state = differences(engine, model, size, streams, steps=400)
    assert logits < 0.05
    assert state < 0.01
    check_draws(engine, model, streams, 300, Sampling(seed=3))


@pytest.mark.gpu
@pytest.mark.parametrize("sampling", RULES)
@pytest.mark.parametrize("streams", [1, 5, 70])
@pytest.mark.parametrize("size", [65, 70])
def test_logits_that_are_no_numbers_give_symbols_all_the_same(
    size: int, streams: int, sampling: Sampling
) -> None:
    """A symbol that there is not would be read from beyond the first layer's table."""
    model = network(2, 64, size, device="cuda")
    with torch.no_grad():
        model.head.bias.fill_(torch.nan)
    draws = np.random.default_rng(3).random((20, streams))
    first, state = np.zeros(streams, np.int64), model.zero_state(streams)
    for engine in (
        FusedEngine(model, size, streams),
        CudaGraphEngine(model, size, streams, "fp16"),
    ):
        drawn = np.concatenate(list(engine.sample(Drawing(first, state, [draws], sampling))))
        assert drawn.min() >= 0
        assert drawn.max() < size


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("layers", "streams", "kind"),
    [(2, 3, Layout), (2, 4, ManyLayout), (5, 4, Layout), (2, 5, ManyLayout)],
)
def test_each_kernel_has_the_streams_that_it_is_faster_for(
    layers: int, streams: int, kind: type
) -> None:
    config = network(layers, 64, 65).config
    assert isinstance(fused.lay_out_on(torch.device("cuda", 0), config, 65, streams), kind)


@pytest.mark.gpu
def test_only_the_kernel_for_few_streams_predicts() -> None:
    config, device = network(2, 64, 65, embedding=True, lookback=8).config, torch.device("cuda", 0)
    assert isinstance(fused.lay_out_on(device, config, 65, 4), Layout)
    with pytest.raises(ConfigError, match="up to 4 streams with"):
        fused.lay_out_on(device, config, 65, 5)


@pytest.mark.gpu
@pytest.mark.parametrize("streams", [1, 8])
def test_10000_steps(streams: int) -> None:
    model = network(2, 256, 65, device="cuda")
    logits, state = differences(FusedEngine(model, 65, streams), model, 65, streams, 10_000)
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
@pytest.mark.parametrize(("streams", "lookback"), [(1, 0), (10, 0), (70, 0), (1, 7), (2, 90)])
def test_a_block_goes_on_where_the_last_one_ended(streams: int, lookback: int) -> None:
    model = network(2, 64, 33, embedding=lookback > 0, device="cuda", lookback=lookback)
    engine, state = FusedEngine(model, 33, streams), random_state(model, streams)
    first = np.zeros(streams, np.int64)
    draws = np.random.default_rng(3).random((150, streams))

    def text(*cuts: int) -> list[int]:
        blocks = np.split(draws, cuts)
        drawn = np.concatenate(list(engine.sample(Drawing(first, state, blocks, Sampling()))))
        return drawn.ravel().tolist()

    assert text() == text() == text(1, 4, 20, 100) == text(64, 128)


@pytest.mark.gpu
def test_many_streams_repeat_bit_for_bit() -> None:
    model = network(2, 256, 65, device="cuda")
    engine, state = FusedEngine(model, 65, 24), random_state(model, 24)
    symbols = np.random.default_rng(2).integers(0, 65, (50, 24))
    logits, after = engine.score(symbols, state)
    for _ in range(200):
        again, state_again = engine.score(symbols, state)
        assert np.array_equal(logits, again)
        assert np.array_equal(after.h, state_again.h)
        assert np.array_equal(after.c, state_again.c)


@pytest.mark.gpu
@pytest.mark.parametrize("streams", [1, 40])
def test_blocks_that_wait_in_vain_give_up(streams: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = network(1, 64, 33, device="cuda")
    engine = FusedEngine(model, 33, streams)
    monkeypatch.setattr(fused, "_PATIENCE", 5000)
    whole = engine._layout
    engine._layout = dataclasses.replace(whole, BLOCKS=whole.BLOCKS - 1)  # one of them never comes
    with pytest.raises(DeviceError, match="in vain"):
        engine.score(np.zeros((4, streams), np.int64), model.zero_state(streams))


@pytest.mark.gpu
def test_a_long_stream_is_still_drawn_by_the_rule() -> None:
    """After a million steps, past the 65536 after which the words' numbers repeat."""
    model = network(1, 32, 17, device="cuda")
    engine, state, rule = FusedEngine(model, 17, 1), random_state(model, 1), Sampling(seed=2)
    draws = np.random.default_rng(3).random((122, 8192, 1))
    *_, last = engine.sample(Drawing(np.zeros(1, np.int64), state, iter(draws), rule))
    # This small network has forgotten after 200 symbols in which state it began to read.
    logits, _ = engine.score(last[:-1], state)
    expected = draw(logits[200:, 0], draws[-1, 201:, 0], rule)
    assert (last[201:, 0] == expected).mean() > 0.99
    assert len(np.unique(last)) > 3
