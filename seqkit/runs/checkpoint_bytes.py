"""The bytes of a checkpoint: a safetensors file whose metadata hold a record and a digest.

The record is one JSON object; the digest is a sha256 over the whole file, taken with its own 64
characters zeroed. safetensors would put a whole file together in memory and hold Python's lock
meanwhile: a training that goes on beside it would stand still. So files are written here, in pieces
that are hashed and written without a copy; reading tensors is left to the library.
"""

import hashlib
import io
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from seqkit.foundation.errors import CheckpointError
from seqkit.symbols import NamedArrays

TensorOrArray = Any
"""PyTorch's or NumPy's; who saves or has read knows which."""
WEIGHTS = "model."
"""How the names of the network's tensors begin."""
_SCALE = ".scale"  # behind the name of a tensor of int8: the scales of its rows
_TYPES = {
    **{"float64": "F64", "float32": "F32", "float16": "F16"},
    **{"int64": "I64", "int32": "I32", "int8": "I8", "uint8": "U8"},
}
_ALIGNMENT = 8  # bytes, of the tensors' first
_ZEROS = b"0" * 64  # what stands in the place of the digest while it is taken
_LARGEST, _MOST = 1 << 24, 1 << 21  # bytes and values of a header: of all characters, twice
_NOT_OURS = (
    *(struct.error, ValueError, KeyError, TypeError, AttributeError, IndexError),
    *(OverflowError, MemoryError, RecursionError),
)  # what reading a header of another shape than a checkpoint's leads to


def on_cpu(values: TensorOrArray) -> npt.NDArray[Any]:
    """As an array, which shares the memory of a tensor on the CPU."""
    return values if isinstance(values, np.ndarray) else np.asarray(values.detach().cpu().numpy())


def parts(tensors: Mapping[str, TensorOrArray], record: str) -> list[bytes | memoryview]:
    """A checkpoint's file in parts: its header with the digest, and the content of each tensor.

    Args:
        tensors: the content shares the memory of those on the CPU that are contiguous.
        record: what the file says beside its tensors, as JSON.
    """
    # The widest types first, so that each is aligned.
    arrays = {name: on_cpu(values) for name, values in tensors.items()}
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))
    entries: dict[str, object] = {"__metadata__": {"digest": _ZEROS.decode(), "seqkit": record}}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.nbytes
        entries[name] = {
            "dtype": _TYPES[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.JSONEncoder(separators=(",", ":")).encode(entries).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    header = struct.pack("<Q", len(text)) + text
    contents = [tensor.reshape(-1).view(np.uint8).data for _, tensor in ordered]
    digest = hashlib.sha256(header)
    for content in contents:
        digest.update(content)
    before, after = _around_digest(header)
    return [before, digest.hexdigest().encode(), after, *contents]


def verified_record(path: Path, content: bytes) -> tuple[dict[str, Any], str]:
    """The record and the digest of a file with this content.

    Raises CheckpointError: it is damaged or foreign.
    """
    foreign = CheckpointError(f"{path}: not a seqkit checkpoint")
    try:
        entries, length = _header(io.BytesIO(content))
        metadata = entries["__metadata__"]
        claimed, record = metadata["digest"], json.loads(metadata["seqkit"])
        before, after = _around_digest(content[:length])
    except _NOT_OURS as error:
        raise foreign from error
    digest = hashlib.sha256(before + _ZEROS + after)
    digest.update(memoryview(content)[length:])
    if digest.hexdigest() != claimed:
        raise CheckpointError(f"{path}: the checkpoint is damaged, its digest does not match")
    if not isinstance(record, dict):
        raise foreign
    return record, digest.hexdigest()


def peek(path: Path) -> dict[str, Any] | None:
    """The record of a checkpoint, if it is there and as long as it should be; else None.

    Its digest is not checked, which would mean to read all of it.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            entries, length = _header(stream)
        metadata = entries.pop("__metadata__")
        size = length + max(entry["data_offsets"][1] for entry in entries.values())
        record = json.loads(metadata["seqkit"])
        return record if isinstance(record, dict) and path.stat().st_size == size else None
    except (OSError, *_NOT_OURS):
        return None


def in_eight_bits(tensors: Mapping[str, TensorOrArray]) -> dict[str, TensorOrArray]:
    """The tensors with the network's learnt matrices in int8, and a scale for each of their rows.

    The largest number of a row becomes 127.
    """
    stored = dict(tensors)
    for name, given in tensors.items():
        if name.startswith(WEIGHTS) and given.ndim == 2:
            value = on_cpu(given).astype(np.float32)
            scale = np.maximum(np.abs(value).max(1), np.finfo(np.float32).tiny) / np.float32(127)
            stored[name] = np.round(value / scale[:, None]).astype(np.int8)
            stored[name + _SCALE] = scale
    return stored


def in_full(tensors: NamedArrays) -> NamedArrays:
    """The tensors with those of int8 as what they stand for: each row times its scale."""
    restored = dict(tensors)
    for name, value in tensors.items():
        if value.dtype == np.int8:
            scale = restored.pop(name + _SCALE)
            restored[name] = value * scale.reshape(len(value), *[1] * (value.ndim - 1))
    return restored


def _header(stream: BinaryIO) -> tuple[dict[str, Any], int]:
    """What a file's header holds, and where the tensors begin. Raises one of _NOT_OURS."""
    length: int = struct.unpack("<Q", stream.read(8))[0]
    text = stream.read(min(length, _LARGEST))
    if length > _LARGEST or text.count(b",") > _MOST:  # each value takes up to 64 bytes
        raise ValueError(f"a header of {length} bytes")
    entries: dict[str, Any] = json.loads(text)
    return entries, 8 + length


def _around_digest(header: bytes) -> tuple[bytes, bytes]:
    """A header before and after its digest. Raises ValueError where there is none."""
    mark = b'"digest":"'
    place = header.index(mark, 8) + len(mark)
    return header[:place], header[place + len(_ZEROS) :]
