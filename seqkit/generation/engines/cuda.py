"""What the GPU engines share: the rule of the draw as kernels read it, and copies to the host."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from seqkit.foundation.errors import DeviceError
from seqkit.foundation.machine import Device
from seqkit.generation.sampling import Sampling
from seqkit.symbols import Integers


def rule_of(sampling: Sampling, size: int) -> dict[str, float]:
    """Sampling among `size` symbols: the struct Rule of draw.cu."""
    greedy = sampling.temperature == 0
    return {
        "inverse_temperature": 0.0 if greedy else 1 / sampling.temperature,
        "top_p": 1.0 if sampling.top_p is None else sampling.top_p,
        "top_k": size if sampling.top_k is None else min(sampling.top_k, size),
        "greedy": int(greedy),
    }


def require_gpu(device: Device, engine: str) -> None:
    """Refuse a CPU: DeviceError."""
    if device.type != "cuda":
        raise DeviceError(f"sample.engine={engine} needs a GPU: use device=cuda, or another engine")


@torch.inference_mode()
def copied_out(tensors: Iterable[Tensor], stream: torch.cuda.Stream) -> Iterator[Integers]:
    """The values of each tensor, copied to the host on `stream` while the next one is computed."""
    waiting: list[tuple[Tensor, torch.cuda.Event]] = []
    for tensor in tensors:
        host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        stream.wait_stream(torch.cuda.current_stream(tensor.device))
        with torch.cuda.stream(stream):
            host.copy_(tensor, non_blocking=True)
            tensor.record_stream(stream)
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record()
        waiting.append((host, done))
        if len(waiting) > 1:
            yield _arrived(*waiting.pop(0))
    for copy in waiting:
        yield _arrived(*copy)


def _arrived(host: Tensor, done: torch.cuda.Event) -> Integers:
    done.synchronize()
    return host.numpy().astype(np.int64)
