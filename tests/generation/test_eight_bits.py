"""What 8 bits cost is the difference of two losses over the same symbols."""

import dataclasses

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.generation.eight_bits import added_nats, is_heavy
from seqkit.generation.engines.choose import build_engine
from seqkit.model.network import cross_entropy
from tests.generation.engines.networks import network


def part(length: int) -> Part:
    draw = np.random.default_rng(4)
    made = Part.of(draw.integers(0, 20, length).astype(np.uint8), frame=2)
    return dataclasses.replace(made, codes=draw.integers(0, 9, length).astype(np.uint8))


def test_it_is_the_loss_in_int8_less_the_networks_own() -> None:
    model, own = network(2, 32, 20, embedding=True, conditions=9, lookback=6), part(161)
    symbols = own.symbols[:160].astype(np.int64)[:, None]
    known = own.conditions(np.arange(160)[:, None])
    fed = np.concatenate([[[7]], symbols[:-1]])
    state, targets = model.zero_state(1), torch.from_numpy(symbols)
    with torch.inference_mode():
        logits, _ = model(torch.from_numpy(fed), state, conditions=known.to("cpu"))
    expected = cross_entropy(logits, targets, "none")
    costs = []
    for name in ("onnx", "wasm"):
        in_int8, _ = build_engine(name, "int8", model, 20, 1).score(fed, state, known)
        nats = cross_entropy(torch.from_numpy(in_int8), targets, "none")
        costs.append(float((nats - expected)[32:].mean()))  # but for those that warm up
    assert abs(costs[0] - costs[1]) > 1e-4
    assert added_nats(model, 20, own, start=7) == pytest.approx(max(costs), abs=1e-5)


def test_stretches_are_whole_frames() -> None:
    model, own = network(1, 32, 20, "gru", places=3), part(160)
    own = dataclasses.replace(own, frame=3)
    symbols = own.symbols[:159].astype(np.int64)[:, None]
    fed, targets = np.concatenate([[[7]], symbols[:-1]]), torch.from_numpy(symbols)
    nats = []
    for precision in ("fp32", "int8"):
        engine = build_engine("onnx", precision, model, 20, 1)
        logits, _ = engine.score(fed, model.zero_state(1))
        nats.append(cross_entropy(torch.from_numpy(logits), targets, "none"))
    cost = float((nats[1] - nats[0])[32:].mean())
    assert cost != 0
    assert added_nats(model, 20, own, start=7) == pytest.approx(cost, abs=1e-6)


def test_a_network_is_heavy_by_its_size_and_its_rate() -> None:
    def heavy(layers: int, hidden: int, rate: int, places: int = 1) -> bool:
        config = ModelConfig(
            num_layers=layers, hidden_size=hidden, vocabulary_size=256, symbols_per_step=places
        )
        return is_heavy(config, rate)

    assert not heavy(1, 384, 8000)
    assert heavy(1, 384, 16000)
    assert heavy(2, 384, 8000)
    assert not heavy(2, 20, 48000)
    assert heavy(1, 512, 16000)
    assert not heavy(1, 256, 16000, places=2)
    assert not heavy(1, 384, 8000, places=2)
    assert heavy(1, 384, 32000, places=8)
    assert heavy(1, 512, 16000, places=2)
    assert heavy(1, 384, 32000, places=4)


def test_of_a_short_part_nothing_is_known() -> None:
    assert added_nats(network(1, 8, 20), 20, part(159), start=0) is None
