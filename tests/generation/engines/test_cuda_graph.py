"""Replayed graphs make the same steps and draws as the steps themselves."""

from functools import partial

import numpy as np
import pytest

from seqkit.foundation.errors import DeviceError
from seqkit.generation.engines.cuda_graph import CudaGraphEngine
from seqkit.generation.engines.pytorch import PreparedStep, TorchEngine
from seqkit.generation.sampler import Drawing, Sampling, sample_blocks
from seqkit.lstm import DTYPES
from tests.generation.engines.networks import (
    RULES,
    check_draws,
    check_frequencies,
    differences,
    flat,
    in_frames,
    network,
    random_state,
    stepped,
)


def test_it_needs_a_gpu() -> None:
    with pytest.raises(DeviceError, match="needs a GPU"):
        CudaGraphEngine(network(1, 8, 5), 5, 1, "fp32")


@pytest.mark.gpu
@pytest.mark.parametrize("sampling", RULES)
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_symbols_are_drawn_by_the_rule(sampling: Sampling, precision: str) -> None:
    model = network(2, 64, 33, device="cuda")
    score = partial(stepped, PreparedStep(model, 33, DTYPES[precision]))
    check_draws(CudaGraphEngine(model, 33, 3, precision), model, 3, 300, sampling, score)


@pytest.mark.gpu
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_any_cell_writes_what_the_torch_engine_writes(cell: str) -> None:
    model = network(2, 48, 33, cell, device="cuda")
    state, first, labels = random_state(model, 2), np.zeros((2, 33)), np.zeros(2, np.int64)
    texts = []
    for engine in (TorchEngine(model, 33), CudaGraphEngine(model, 33, 2, "fp32")):
        blocks = sample_blocks(engine, first, state, 200, Sampling(seed=2), labels=labels)
        texts.append(np.concatenate(list(blocks)))
    assert texts[0].tolist() == texts[1].tolist()


@pytest.mark.gpu
def test_a_block_goes_on_where_the_last_one_ended() -> None:
    model = network(2, 64, 33, device="cuda")
    engine, state = CudaGraphEngine(model, 33, 1, "fp32"), random_state(model, 1)
    first, draws = np.zeros(1, np.int64), np.random.default_rng(3).random((150, 1))

    def text(*cuts: int) -> list[int]:
        blocks = np.split(draws, cuts)
        drawn = np.concatenate(
            list(engine.sample(Drawing(first, state, blocks, Sampling(), first)))
        )
        return drawn.ravel().tolist()

    assert text() == text(1, 4, 20, 100) == text(64, 128)


@pytest.mark.gpu
def test_10000_steps() -> None:
    model = network(2, 64, 33, device="cuda")
    for precision, allowed in (("fp32", 1e-3), ("fp16", 0.1)):
        step = PreparedStep(model, 33, DTYPES[precision])
        assert differences(step, model, 33, 1, 10_000)[0] < allowed


@pytest.mark.gpu
@pytest.mark.parametrize("size", [7, 40, 300, 2000])
@pytest.mark.parametrize("sampling", [Sampling(0.9), Sampling(top_k=6), Sampling(1.1, top_p=0.7)])
def test_draws_follow_the_probabilities(size: int, sampling: Sampling) -> None:
    model = flat(size, "cuda")
    check_frequencies(CudaGraphEngine(model, size, 2000, "fp32"), model, 2000, sampling)


@pytest.mark.gpu
@pytest.mark.parametrize("streams", [1, 3])
def test_labels_are_read(streams: int) -> None:
    model = network(2, 32, 20, embedding=True, labels=3, device="cuda")
    engine = CudaGraphEngine(model, 20, streams, "fp32")
    logits, state = differences(PreparedStep(model, 20), model, 20, streams, steps=50)
    assert logits < 1e-3
    assert state < 1e-4
    check_draws(engine, model, streams, 300, Sampling(seed=3))


@pytest.mark.gpu
@pytest.mark.parametrize("places", [2, 3, 4])
def test_several_symbols_a_step(places: int) -> None:
    model = in_frames(places, "cuda")
    engine = CudaGraphEngine(model, 20, 2, "fp32")
    assert differences(PreparedStep(model, 20), model, 20, 2, steps=50, fed=1)[0] < 1e-3
    check_draws(engine, model, 2, 300, Sampling(seed=3))
    state, first = random_state(model, 2, fed=1), np.array([1, 2])
    draws = np.random.default_rng(5).random((150, 2))

    def drawn(*cuts: int) -> list[int]:
        blocks = engine.sample(Drawing(first, state, np.split(draws, cuts), Sampling(), 0 * first))
        return np.concatenate(list(blocks)).ravel().tolist()

    assert drawn() == drawn(1, 4, 20, 100) == drawn(64, 128)
