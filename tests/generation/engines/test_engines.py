"""Which engine is taken, and what is said about it."""

import sys

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.generation.engines import build_engine, check_engine, choose_engine
from seqkit.generation.engines.pytorch import TorchEngine
from seqkit.generation.engines.wasm import WasmEngine
from seqkit.generation.sampler import Engine, Request, Sampling, sample_blocks
from seqkit.model.char_rnn import CharRNN
from tests.generation.engines.networks import network, random_state


def chosen(request: Request, cell: str = "lstm") -> tuple[Engine, list[str]]:
    told: list[str] = []
    return choose_engine(network(1, 8, 5, cell), 5, request, told.append), told


def check(request: Request, device: str = "cpu", size: int = 5, cell: str = "lstm") -> None:
    check_engine(ModelConfig(hidden_size=32, cell=cell), size, request, torch.device(device))


@pytest.mark.parametrize(
    ("request_", "cell", "kind"),
    [
        (Request(1), "lstm", WasmEngine),
        (Request(1, streams=64), "lstm", WasmEngine),
        (Request(1, precision="int8"), "lstm", WasmEngine),
        (Request(1, precision="fp32"), "lstm", TorchEngine),
        (Request(1, label_strength=2.0), "lstm", TorchEngine),
        (Request(1), "gru", TorchEngine),
        (Request(1, engine="torch"), "lstm", TorchEngine),
    ],
)
def test_on_a_cpu_wasm_runs_what_it_can_and_torch_the_rest(
    request_: Request, cell: str, kind: type[Engine]
) -> None:
    check(request_, cell=cell)
    engine, told = chosen(request_, cell)
    assert isinstance(engine, kind)
    assert told == []


@pytest.mark.parametrize(
    ("request_", "cell", "said"),
    [
        (Request(1, precision="fp16"), "lstm", "wasm or torch runs .* in int8 or fp32"),
        (Request(1, precision="int8"), "gru", "precision=int8: torch runs"),
        (Request(1, engine="torch", precision="int8"), "lstm", "torch runs .* in fp32"),
        (Request(1, engine="wasm", precision="fp32"), "lstm", "wasm runs .* in int8"),
        (Request(1, engine="wasm"), "gru", "run LSTMs, and this is a gru"),
        (Request(1, engine="wasm", label_strength=2.0), "lstm", "label_strength is for"),
    ],
)
def test_what_an_engine_cannot_do_is_refused_also_before_a_training(
    request_: Request, cell: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        chosen(request_, cell)
    with pytest.raises(ConfigError, match=said):
        check(request_, cell=cell)


def test_the_cuda_graph_by_name_needs_a_gpu() -> None:
    for call in (chosen, check):
        with pytest.raises(DeviceError, match="needs a GPU"):
            call(Request(1, engine="cuda_graph"))


def test_on_a_gpu_that_is_not_there_precisions_and_sizes_are_checked() -> None:
    check(Request(1), "cuda")
    check(Request(1, engine="cuda_graph", precision="fp16"), "cuda")
    check(Request(1, precision="fp16"), "cuda")
    with pytest.raises(ConfigError, match=r"cuda_graph or torch runs .* in fp32 or fp16"):
        check(Request(1, precision="int8"), "cuda")
    with pytest.raises(ConfigError, match="up to 16384 symbols"):
        check(Request(1, engine="cuda_graph"), "cuda", size=20_000)


def test_without_wasmtime_torch_runs_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    engine, [told] = chosen(Request(1))
    assert isinstance(engine, TorchEngine)
    assert told.startswith("generating with sample.engine=torch: sample.engine=wasm: wasmtime")
    for call in (chosen, check):
        with pytest.raises(ConfigError, match="wasmtime does not load"):
            call(Request(1, engine="wasm"))


def test_an_engine_leaves_the_network_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    model = network(1, 8, 5)
    monkeypatch.setattr(CharRNN, "_apply", None)  # what moves weights: `to`, `float`, `cuda`
    for name in ("torch", "wasm"):
        build_engine(name, model, 5, Request(1))


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["torch", "cuda_graph"])
def test_an_engine_on_a_gpu_leaves_the_weights_where_they_are(name: str) -> None:
    model = network(2, 64, 33, device="cuda")
    places = [weight.data_ptr() for weight in model.parameters()]
    build_engine(name, model, 33, Request(1))
    assert [weight.data_ptr() for weight in model.parameters()] == places


@pytest.mark.gpu
def test_auto_on_a_gpu_keeps_fp32_and_falls_back_with_a_word() -> None:
    from seqkit.generation.engines.cuda_graph import CudaGraphEngine

    told: list[str] = []

    def taken(model: CharRNN, size: int, precision: str) -> Engine:
        return choose_engine(model, size, Request(1, precision=precision), told.append)

    for cell in ("lstm", "gru"):
        for precision in ("auto", "fp16"):
            model = network(1, 64, 33, cell, device="cuda")
            assert isinstance(taken(model, 33, precision), CudaGraphEngine)
    assert told == []
    large = network(1, 8, 20_000, device="cuda")
    assert isinstance(taken(large, 20_000, "auto"), TorchEngine)
    assert "up to 16384 symbols" in told[0]


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two GPUs")
@pytest.mark.parametrize("name", ["torch", "cuda_graph"])
def test_a_gpu_that_is_not_the_current_one_writes_the_same(name: str) -> None:
    texts = []
    for device in ("cuda:0", "cuda:1"):
        model = network(2, 64, 33, device=device)
        engine = build_engine(name, model, 33, Request(1, streams=3))
        state, begin = random_state(model, 3), np.zeros((3, 33))
        labels = np.zeros(3, np.int64)
        blocks = sample_blocks(engine, begin, state, 300, Sampling(seed=2), labels=labels)
        texts.append(np.concatenate([*blocks]).tolist())
        assert torch.cuda.current_device() == 0
    assert texts[0] == texts[1]
