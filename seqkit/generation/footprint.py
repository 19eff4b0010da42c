"""The memory that generation takes, estimated before any of it is allocated."""

import torch

from seqkit.config import ModelConfig
from seqkit.foundation import memory

# Bytes for each stream, measured: of each unit of each layer (the state, before and after a step),
# of each unit (gates), and of each symbol (logits, and probabilities in float64).
_ON_CPU = (44, 20, 20)
_ON_GPU = (16, 0, 8)


def stream_bytes(model: ModelConfig, on_gpu: bool) -> int:
    """What each stream takes on its device: by estimate, below what was measured."""
    each_layer, each_unit, each_symbol = _ON_GPU if on_gpu else _ON_CPU
    h = model.hidden_size
    return (each_layer * model.num_layers + each_unit) * h + each_symbol * model.vocabulary_size


def require_streams(model: ModelConfig, streams: int, device: torch.device) -> None:
    """Refuse streams that cannot fit.

    Raises:
        DeviceError: with the number that would fit.
    """
    free = memory.free_bytes(device)
    each = stream_bytes(model, device.type == "cuda")

    def fewer() -> str:
        fitting = memory.largest(lambda count: count * each, free, below=streams)
        return f"By estimate streams={fitting} fits." if fitting else ""

    memory.require(streams * each, free, f"streams={streams}", fewer, device)
