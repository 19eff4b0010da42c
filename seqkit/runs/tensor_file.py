"""Tensors as a safetensors file, in pieces that can be hashed and written without a copy.

The library puts a whole file together in memory and holds Python's lock meanwhile: a training that
goes on beside it would stand still. Reading is left to the library.
"""

import json
import struct
from collections.abc import Mapping

import torch
from torch import Tensor

_TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
}
_ALIGNMENT = 8  # bytes, of the tensors' first


def pieces(
    tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> tuple[bytes, list[memoryview]]:
    """The header, with its length before it, and the content of each tensor.

    Args:
        tensors: on the CPU; the content shares the memory of those that are contiguous.
        metadata: what the header says beside shapes and types.
    """
    # The widest types first, so that each is aligned.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    place = 0
    for name, tensor in ordered:
        end = place + tensor.nbytes
        shape = list(tensor.shape)
        header[name] = {
            "dtype": _TYPES[tensor.dtype],
            "shape": shape,
            "data_offsets": [place, end],
        }
        place = end
    text = json.JSONEncoder(separators=(",", ":")).encode(header).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return struct.pack("<Q", len(text)) + text, [_content(tensor) for _, tensor in ordered]


def _content(tensor: Tensor) -> memoryview:
    """A tensor's bytes."""
    return tensor.detach().reshape(-1).view(torch.uint8).numpy().data
