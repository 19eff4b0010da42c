"""Engines of generation, and the one place that chooses one."""

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

from seqkit.config import ModelConfig
from seqkit.foundation.device import Device
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.generation.engines import wasm
from seqkit.generation.sampler import Engine, Request
from seqkit.model.arrays import Network, NetworkArrays
from seqkit.symbols import Floats

if TYPE_CHECKING:
    from seqkit.model.char_rnn import CharRNN

PRECISIONS = {"torch": ("fp32",), "cuda_graph": ("fp32", "fp16"), "wasm": ("int8",)}
"""What every engine computes in; the first is what precision=auto means there."""


def choose_engine(
    model: Network,
    size: int,
    request: Request,
    notice: Callable[[str], None],
    labels: Floats | None = None,
) -> Engine:
    """The engine for sample.engine and sample.precision.

    auto takes cuda_graph on a GPU, and wasm for an LSTM on a CPU, so that a seed gives one text
    there, in a page, too. All else runs by torch. An engine that cannot run here is passed over,
    with a notice.

    The model is on the device that was chosen; `size` is the codec's V; `labels` are choices of
    labels (n, R), see `NetworkArrays.with_choices`.

    Raises ConfigError, DeviceError: what was asked for by name cannot run.
    """
    names = candidates(model.config, request, model.device)
    for tried, following in itertools.pairwise(names):
        try:
            return build_engine(tried, model, size, request, labels)
        except (ConfigError, DeviceError) as error:
            notice(f"generating with sample.engine={following}: {error}")
    return build_engine(names[-1], model, size, request, labels)


def check_engine(config: ModelConfig, size: int, request: Request, device: Device) -> None:
    """Refuse what `choose_engine` would refuse for a model of this config. Raises as that."""
    match candidates(config, request, device)[-1]:  # it takes the most networks
        case "cuda_graph":
            from seqkit.generation.engines import cuda_graph

            cuda_graph.check(device, size)
        case "wasm":
            wasm.check(config)


def candidates(config: ModelConfig, request: Request, device: Device) -> list[str]:
    """The engines to try in turn. Raises ConfigError if there is none."""
    precision = request.precision
    if request.engine != "auto":
        tried = [request.engine]
    elif request.label_strength != 1:
        tried = ["torch"]
    elif device.type == "cuda":
        tried = ["cuda_graph", "torch"]
    else:
        tried = ["wasm", "torch"] if config.cell == "lstm" else ["torch"]
    names = [name for name in tried if precision in ("auto", *PRECISIONS[name])]
    if not names:
        known = dict.fromkeys(itertools.chain(*(PRECISIONS[name] for name in tried)))
        raise ConfigError(
            f"sample.precision={precision}: {' or '.join(tried)} runs this network on this "
            f"device, in {' or '.join(known)}"
        )
    if request.label_strength != 1 and names != ["torch"]:
        raise ConfigError(f"sample.engine={names[0]}: label_strength is for sample.engine=torch")
    return names


def build_engine(
    name: str, model: Network, size: int, request: Request, labels: Floats | None = None
) -> Engine:
    """The engine of this name, see `choose_engine`. Raises what it cannot run."""
    if name == "wasm":
        return wasm.WasmEngine(model, size, labels)
    if labels is None:
        module = as_module(model)  # where it is: `to` would move the weights of one that trains
    else:
        module = NetworkArrays.of(model).with_choices(labels).char_rnn().to(model.device)
    if name == "cuda_graph":
        from seqkit.generation.engines.cuda_graph import CudaGraphEngine

        precision = "fp16" if request.precision == "fp16" else "fp32"
        return CudaGraphEngine(module, size, request.streams, precision)
    from seqkit.generation.engines.pytorch import TorchEngine

    return TorchEngine(module, size, request.label_strength)


def as_module(model: Network) -> "CharRNN":
    """The network as PyTorch has it."""
    return model.char_rnn() if isinstance(model, NetworkArrays) else model
