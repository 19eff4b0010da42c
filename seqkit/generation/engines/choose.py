"""The one place that chooses a generation engine."""

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

from seqkit.config import ModelConfig
from seqkit.foundation import machine
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.foundation.machine import Device
from seqkit.generation.engine import Engine
from seqkit.generation.request import Request
from seqkit.model.arrays import Network, NetworkArrays
from seqkit.symbols import Floats

if TYPE_CHECKING:
    from seqkit.generation.engines.pytorch import TorchEngine
    from seqkit.model.char_rnn import CharRNN

PRECISIONS = {
    "torch": ("fp32",),
    "cuda_graph": ("fp32", "fp16"),
    "onnx": ("fp32", "int8"),
    "wasm": ("int8",),
}
"""What every engine computes in; the first is what precision=auto means there."""
_MANY = 4  # symbols of a step, from which on wasm is the faster in int8, for
_FEW = 16  # streams at most, which it makes one after the other


def choose_engine(
    model: Network, size: int, request: Request, notice: Callable[[str], None]
) -> Engine:
    """The engine for sample.engine and sample.precision.

    auto takes the fastest engine of the precision, fp32 by default: a seed gives the same text
    wherever arithmetic rounds alike. If the request is for 8 bits, onnx makes them, or wasm for
    steps of four symbols or more, and for one stream on a processor with AVX2 alone. An engine that
    cannot run here is passed over, with a notice.

    Args:
        model: on the device that was chosen.
        size: the codec's V.
        request: engine, precision and streams are read here.
        notice: tells the user.

    Raises:
        ConfigError, DeviceError: what was asked for by name cannot run.
    """
    names, precision = _candidates(request, model.device)
    light = request.eight_bits and request.precision == "auto"
    # ONNX Runtime is slow in int8 with AVX2, and makes a call for each symbol of a step.
    few = _FEW if model.config.frame >= _MANY else int(machine.ends_at_avx2())
    on_cpu = names[0] == "onnx" and model.config.cell == "lstm" and request.engine == "auto"
    if light and on_cpu and request.streams <= few:
        names = ["wasm", *names]

    def built(name: str) -> Engine:
        chosen = "int8" if light and name in ("onnx", "wasm") else precision
        engine = build_engine(name, chosen, model, size, request.streams)
        if request.precision == "auto" and chosen != "fp32":
            offers = request.engine == "auto" or "fp32" in PRECISIONS[name]
            exact = "; sample.precision=fp32 is exact" if chosen == "int8" and offers else ""
            notice(f"the {name} engine computes in {chosen}{exact}")
        return engine

    for tried, following in itertools.pairwise(names):
        try:
            return built(tried)
        except (ConfigError, DeviceError) as error:
            notice(f"generating with sample.engine={following}: {error}")
    return built(names[-1])


def check_engine(config: ModelConfig, size: int, request: Request, device: Device) -> None:
    """Refuse at once what `choose_engine` would refuse for a model of this config.

    Nothing is built; `size` is the codec's V.

    Raises:
        ConfigError, DeviceError: as `choose_engine`.
    """
    names, _ = _candidates(request, device)
    match names[-1]:  # it takes the most networks
        case "cuda_graph":
            from seqkit.generation.engines import cuda_graph

            cuda_graph.check(device, size)
        case "onnx" | "wasm" as name:
            _imported(name)


def build_engine(name: str, precision: str, model: Network, size: int, streams: int) -> Engine:
    """The engine of this name. Raises ConfigError or DeviceError where it cannot run."""
    match name:
        case "cuda_graph":
            from seqkit.generation.engines.cuda_graph import CudaGraphEngine

            return CudaGraphEngine(as_module(model), size, streams, precision)
        case "onnx":
            return _imported(name)(model, size, precision)
        case "wasm":
            return wasm_engine(model, size)
        case _:
            return torch_engine(model, size)


def _candidates(request: Request, device: Device) -> tuple[list[str], str]:
    """The engines to try in turn, and their precision."""
    name, precision = request.engine, request.precision
    if precision == "auto":
        precision = "fp32" if name == "auto" else PRECISIONS[name][0]
    kind = "GPU" if device.type == "cuda" else "CPU"
    order = {"GPU": ("cuda_graph", "torch"), "CPU": ("onnx", "torch")}[kind]
    tried = order if name == "auto" else (name,)
    names = [engine for engine in tried if precision in PRECISIONS[engine]]
    if names:
        return names, precision
    wanted = f"sample.precision={precision}"
    if name == "auto":
        other = "device=cpu" if kind == "GPU" else "device=cuda"
        raise ConfigError(
            f"{wanted}: no engine for a {kind} computes in it: leave the key out, or use {other}"
        )
    computes = " or ".join(PRECISIONS[name])
    raise ConfigError(f"{wanted}: sample.engine={name} computes in {computes}")


def torch_engine(
    model: Network, size: int, strength: float = 1.0, penalty: float = 1.0
) -> "TorchEngine":
    """The torch engine: see there."""
    from seqkit.generation.engines.pytorch import TorchEngine

    return TorchEngine(as_module(model), size, strength, penalty)


def as_module(model: Network) -> "CharRNN":
    """The network as PyTorch has it."""
    return model.char_rnn() if isinstance(model, NetworkArrays) else model


def wasm_engine(model: Network, size: int, labels: Floats | None = None) -> Engine:
    """The wasm engine, with choices of labels: see `wasm_layout.pack`. Raises ConfigError."""
    return _imported("wasm")(model, size, labels)


def _imported(name: str) -> Callable[..., Engine]:
    """The class of onnx or wasm. Raises ConfigError if the library that it calls does not load."""
    library = {"onnx": "ONNX Runtime", "wasm": "wasmtime"}[name]
    try:
        if name == "onnx":
            from seqkit.generation.engines.onnx import OnnxEngine

            return OnnxEngine
        from seqkit.generation.engines.wasm import WasmEngine

        return WasmEngine
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"sample.engine={name}: {library} does not load ({error}): install seqkit anew"
        ) from error
