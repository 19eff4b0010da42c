"""Which engine is taken, and what is said about it."""

import sys

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.foundation import machine
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.generation.engine import Engine, generate_blocks
from seqkit.generation.engines.choose import PRECISIONS, build_engine, check_engine, choose_engine
from seqkit.generation.engines.onnx import OnnxEngine
from seqkit.generation.engines.pytorch import TorchEngine
from seqkit.generation.engines.wasm import WasmEngine
from seqkit.generation.request import Request
from seqkit.generation.sampling import Sampling
from seqkit.model.char_rnn import CharRNN
from tests.generation.engines.networks import network, random_state


def chosen(
    name: str = "auto", precision: str = "auto", eight_bits: bool = False
) -> tuple[Engine, list[str]]:
    told: list[str] = []
    request = Request(1, engine=name, precision=precision, eight_bits=eight_bits)
    return choose_engine(network(1, 8, 5), 5, request, told.append), told


def check(
    name: str = "auto",
    precision: str = "auto",
    device: str = "cpu",
    size: int = 5,
    config: ModelConfig | None = None,
) -> None:
    request = Request(1, engine=name, precision=precision)
    check_engine(config or ModelConfig(hidden_size=32), size, request, torch.device(device))


def test_auto_on_a_cpu_is_onnx_in_fp32_without_a_word() -> None:
    engine, told = chosen()
    assert isinstance(engine, OnnxEngine)
    assert told == []


@pytest.mark.parametrize(
    ("name", "precision", "in_8_bits"),
    [("auto", "auto", True), ("onnx", "auto", True), ("auto", "fp32", False)],
)
def test_a_request_for_8_bits_has_them_with_a_word(
    name: str, precision: str, in_8_bits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "ends_at_avx2", lambda: False)
    engine, told = chosen(name, precision, eight_bits=True)
    symbols, state = np.zeros((40, 1), np.int64), network(1, 8, 5).zero_state(1)
    of_fp32, _ = OnnxEngine(network(1, 8, 5), 5).score(symbols, state)
    assert (engine.score(symbols, state)[0] == of_fp32).all() == (not in_8_bits)
    exact = "; sample.precision=fp32 is exact"
    assert told == [f"the onnx engine computes in int8{exact}"] * in_8_bits


def test_with_avx2_alone_wasm_is_the_engine_of_8_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "ends_at_avx2", lambda: True)
    engine, told = chosen(eight_bits=True)
    assert isinstance(engine, WasmEngine)
    assert told == ["the wasm engine computes in int8; sample.precision=fp32 is exact"]
    assert isinstance(chosen()[0], OnnxEngine)
    assert isinstance(chosen("onnx", eight_bits=True)[0], OnnxEngine)
    gru, several = network(1, 8, 5, cell="gru"), Request(1, 2, eight_bits=True)
    assert isinstance(choose_engine(gru, 5, Request(1, eight_bits=True), told.append), OnnxEngine)
    assert isinstance(choose_engine(network(1, 8, 5), 5, several, told.append), OnnxEngine)


@pytest.mark.parametrize(
    ("places", "streams", "kind"),
    [(4, 1, WasmEngine), (4, 16, WasmEngine), (4, 17, OnnxEngine), (3, 1, OnnxEngine)],
)
def test_a_few_streams_of_steps_of_four_symbols_are_made_by_wasm(
    places: int, streams: int, kind: type[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "ends_at_avx2", lambda: False)
    model, request = network(1, 8, 5, places=places), Request(1, streams, eight_bits=True)
    assert isinstance(choose_engine(model, 5, request, lambda text: None), kind)


@pytest.mark.parametrize(
    ("name", "precision"),
    [("torch", "int8"), ("onnx", "fp16"), ("auto", "fp16"), ("cuda_graph", "int8")],
)
def test_a_precision_that_the_engine_lacks_is_refused(name: str, precision: str) -> None:
    with pytest.raises(ConfigError, match=precision) as refused:
        chosen(name, precision)
    with pytest.raises(ConfigError) as early:
        check(name, precision)
    assert str(early.value) == str(refused.value)


def test_a_gpu_engine_by_name_needs_a_gpu() -> None:
    for call in (chosen, check):
        with pytest.raises(DeviceError, match="needs a GPU"):
            call("cuda_graph")


def test_on_a_gpu_that_is_not_there_precisions_and_sizes_are_checked() -> None:
    check(device="cuda")
    check("cuda_graph", "fp16", "cuda")
    check("auto", "fp16", "cuda")
    with pytest.raises(ConfigError, match="no engine for a GPU"):
        check("auto", "int8", "cuda")
    with pytest.raises(ConfigError, match="up to 16384 symbols"):
        check("cuda_graph", "auto", "cuda", size=20_000)


def test_without_onnx_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "ends_at_avx2", lambda: False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "seqkit.generation.engines.onnx")
    engine, told = chosen()
    assert isinstance(engine, TorchEngine)
    [notice] = told
    assert notice.startswith(
        "generating with sample.engine=torch: sample.engine=onnx: ONNX Runtime"
    )
    assert isinstance(chosen(eight_bits=True)[0], TorchEngine)
    with pytest.raises(ConfigError, match="does not load"):
        chosen("onnx")
    check()
    with pytest.raises(ConfigError, match="does not load"):
        check("auto", "int8")


def test_without_wasmtime(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(chosen("wasm")[0], WasmEngine)
    check("wasm", "int8")
    with pytest.raises(ConfigError, match="computes in int8"):
        check("wasm", "fp32")
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    monkeypatch.delitem(sys.modules, "seqkit.generation.engines.wasm")
    for call in (chosen, check):
        with pytest.raises(ConfigError, match="wasmtime does not load"):
            call("wasm")


@pytest.mark.gpu
def test_auto_on_a_gpu_keeps_fp32_and_falls_back_with_a_word() -> None:
    from seqkit.generation.engines.cuda_graph import CudaGraphEngine

    told: list[str] = []

    def taken(model: CharRNN, name: str, precision: str) -> Engine:
        return choose_engine(model, 33, Request(1, engine=name, precision=precision), told.append)

    model = network(1, 64, 33, device="cuda")
    assert isinstance(taken(model, "auto", "auto"), CudaGraphEngine)
    gru = network(1, 64, 33, "gru", device="cuda")
    assert isinstance(taken(gru, "auto", "fp16"), CudaGraphEngine)
    assert told == []
    large = network(1, 8, 20_000, device="cuda")
    engine = choose_engine(large, 20_000, Request(1), told.append)
    assert isinstance(engine, TorchEngine)
    assert "up to 16384 symbols" in told[0]


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two GPUs")
@pytest.mark.parametrize("name", ["torch", "cuda_graph"])
@pytest.mark.parametrize("streams", [1, 8])
def test_a_gpu_that_is_not_the_current_one_writes_the_same(name: str, streams: int) -> None:
    texts = []
    for device in ("cuda:0", "cuda:1"):
        model = network(2, 64, 33, device=device)
        engine = build_engine(name, PRECISIONS[name][0], model, 33, streams)
        state, begin = random_state(model, streams), np.zeros((streams, 33))
        blocks = generate_blocks(engine, begin, state, 300, Sampling(seed=2))
        texts.append(np.concatenate([*blocks]).tolist())
        assert torch.cuda.current_device() == 0
    assert texts[0] == texts[1]
