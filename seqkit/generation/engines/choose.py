"""The one place that chooses a generation engine."""

import itertools
from collections.abc import Callable

from seqkit.errors import ConfigError, DeviceError
from seqkit.generation.engine import Engine
from seqkit.generation.engines.cuda_graph import CudaGraphEngine
from seqkit.generation.engines.fused import FusedEngine
from seqkit.generation.engines.pytorch import TorchEngine
from seqkit.model.char_rnn import CharRNN

PRECISIONS = {
    "torch": ("fp32",),
    "cuda_graph": ("fp32", "fp16"),
    "fused": ("fp16",),
    "onnx": ("fp32", "int8"),
}
"""What every engine computes in; the first is what precision=auto means there."""


def choose_engine(
    model: CharRNN,
    size: int,
    streams: int,
    name: str,
    precision: str,
    notice: Callable[[str], None],
) -> Engine:
    """The engine for sample.engine and sample.precision.

    auto takes the fastest engine of the precision, and of fp32 where that is auto, too: the same
    seed then gives the same text on every machine. An engine that cannot run here is passed over,
    with a notice.

    Args:
        model: on the device that was chosen.
        size: the codec's.
        streams: how many symbols every step draws.
        name: an engine, or auto.
        precision: fp32, fp16, int8 or auto.
        notice: tells the user.

    Raises:
        ConfigError, DeviceError: what was asked for by name cannot run.
    """
    gpu = model.head.weight.device.type == "cuda"
    if name != "auto":
        taken = PRECISIONS[name][0] if precision == "auto" else precision
        if taken not in PRECISIONS[name]:
            raise ConfigError(
                f"sample.precision={taken}: sample.engine={name} computes in "
                f"{' or '.join(PRECISIONS[name])}"
            )
        engine = _build(model, size, streams, name, taken)
        if precision == "auto" and taken != "fp32":
            notice(f"the {name} engine computes in {taken}")
        return engine
    taken = "fp32" if precision == "auto" else precision
    order = ("fused", "cuda_graph", "torch") if gpu else ("onnx", "torch")
    able = [engine for engine in order if taken in PRECISIONS[engine]]
    if not able:
        where = "a GPU" if gpu else "a CPU"
        other = "device=cpu" if gpu else "device=cuda"
        raise ConfigError(
            f"sample.precision={taken}: no engine for {where} computes in it; {other}"
        )
    for tried, following in itertools.pairwise(able):
        try:
            return _build(model, size, streams, tried, taken)
        except (ConfigError, DeviceError) as error:
            notice(f"generating with sample.engine={following}: {error}")
    return _build(model, size, streams, able[-1], taken)


def _build(model: CharRNN, size: int, streams: int, name: str, precision: str) -> Engine:
    match name:
        case "fused":
            return FusedEngine(model, size, streams)
        case "cuda_graph":
            return CudaGraphEngine(model, size, streams, precision)
        case "onnx":
            try:
                from seqkit.generation.engines.onnx import OnnxEngine
            except ImportError as error:
                raise ConfigError(
                    "sample.engine=onnx needs ONNX Runtime: pip install 'seqkit[onnx]'"
                ) from error
            return OnnxEngine(model, size, precision)
        case _:
            return TorchEngine(model, size)
