"""Which engine is taken, and what is said about it."""

import sys

import pytest

from seqkit.errors import ConfigError, DeviceError
from seqkit.generation.engine import Engine
from seqkit.generation.engines.choose import choose_engine
from seqkit.generation.engines.onnx import OnnxEngine
from seqkit.generation.engines.pytorch import TorchEngine
from tests.generation.engines.networks import network


def chosen(name: str = "auto", precision: str = "auto") -> tuple[Engine, list[str]]:
    told: list[str] = []
    return choose_engine(network(1, 8, 5), 5, 1, name, precision, told.append), told


def test_auto_on_a_cpu_is_onnx_in_fp32_without_a_word() -> None:
    engine, told = chosen()
    assert isinstance(engine, OnnxEngine)
    assert told == []


def test_an_engine_by_name() -> None:
    assert isinstance(chosen("torch")[0], TorchEngine)
    assert isinstance(chosen("onnx", "int8")[0], OnnxEngine)
    assert isinstance(chosen("auto", "int8")[0], OnnxEngine)


@pytest.mark.parametrize(
    ("name", "precision"),
    [("torch", "int8"), ("onnx", "fp16"), ("auto", "fp16"), ("fused", "int8")],
)
def test_a_precision_that_the_engine_lacks_is_refused(name: str, precision: str) -> None:
    with pytest.raises(ConfigError, match=precision):
        chosen(name, precision)


@pytest.mark.parametrize("name", ["fused", "cuda_graph"])
def test_a_gpu_engine_by_name_needs_a_gpu(name: str) -> None:
    with pytest.raises(DeviceError, match="needs a GPU"):
        chosen(name)


def test_without_onnx_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "seqkit.generation.engines.onnx")
    engine, told = chosen()
    assert isinstance(engine, TorchEngine)
    assert len(told) == 1
    assert "pip install 'seqkit[onnx]'" in told[0]
    with pytest.raises(ConfigError, match="pip install"):
        chosen("onnx")


@pytest.mark.gpu
def test_auto_on_a_gpu_keeps_fp32_and_falls_back_with_a_word() -> None:
    from seqkit.generation.engines.cuda_graph import CudaGraphEngine
    from seqkit.generation.engines.fused import FusedEngine

    told: list[str] = []
    model = network(1, 64, 33, device="cuda")
    assert isinstance(choose_engine(model, 33, 1, "auto", "auto", told.append), CudaGraphEngine)
    assert isinstance(choose_engine(model, 33, 1, "auto", "fp16", told.append), FusedEngine)
    assert told == []
    assert isinstance(choose_engine(model, 33, 1, "fused", "auto", told.append), FusedEngine)
    assert told == ["the fused engine computes in fp16"]
    gru = network(1, 64, 33, "gru", device="cuda")
    assert isinstance(choose_engine(gru, 33, 1, "auto", "fp16", told.append), CudaGraphEngine)
    assert "lstm" in told[1]
    with pytest.raises(ConfigError, match="lstm"):
        choose_engine(gru, 33, 1, "fused", "auto", told.append)
