"""What the GPU engines share: the rule of the draw as kernels read it, and copies to the host."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from seqkit.foundation.errors import DeviceError
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


def require_gpu(device: torch.device, engine: str) -> None:
    """Refuse a CPU: DeviceError."""
    if device.type != "cuda":
        raise DeviceError(f"sample.engine={engine} needs a GPU: use device=cuda, or another engine")


class Copy:
    """A tensor being copied to the host while the GPU goes on computing."""

    def __init__(self, tensor: Tensor, stream: torch.cuda.Stream) -> None:
        """Start the copy on `stream`, after the current stream's work so far."""
        self._host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        stream.wait_stream(torch.cuda.current_stream(tensor.device))
        with torch.cuda.stream(stream):
            self._host.copy_(tensor, non_blocking=True)
            tensor.record_stream(stream)
            self._done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._done.record()

    def wait(self) -> Integers:
        """The values, when they have arrived."""
        self._done.synchronize()
        return self._host.numpy().astype(np.int64)


@torch.inference_mode()
def copied_out(tensors: Iterable[Tensor], stream: torch.cuda.Stream) -> Iterator[Integers]:
    """The values of each tensor, copied to the host on `stream` while the next one is computed."""
    waiting: Copy | None = None
    for tensor in tensors:
        copy = Copy(tensor, stream)
        if waiting is not None:
            yield waiting.wait()
        waiting = copy
    if waiting is not None:
        yield waiting.wait()
