"""A file in pieces is what the library makes in one."""

import json
import struct
from typing import Any

import safetensors.torch
import torch

from seqkit.runs import checkpoint_bytes


def test_the_pieces_are_what_the_library_writes() -> None:
    tensors = {
        "b": torch.arange(5, dtype=torch.int32),
        "wide": torch.randn(2, 3).double(),
        "a": torch.randn(3, 4).t(),
        "half": torch.randn(7).half(),
        "long": torch.arange(3),
        "small": torch.arange(-3, 3, dtype=torch.int8),
        "one": torch.tensor(2.5),
        "none": torch.zeros(0, 4),
    }
    record = '{"a": "ü\\""}'
    own = b"".join(checkpoint_bytes.parts(tensors, record))
    digest = json.loads(own[8 : _begin(own)])["__metadata__"]["digest"]
    metadata = {"digest": digest, "seqkit": record}
    read = safetensors.torch.load(own)
    assert read.keys() == tensors.keys()
    assert all(torch.equal(read[name], value) for name, value in tensors.items())
    dense = {name: value.contiguous() for name, value in tensors.items()}
    expected = safetensors.torch.save(dense, metadata)
    assert _entries(own) == _entries(expected)
    assert len(own) - _begin(own) == len(expected) - _begin(expected)
    assert _begin(own) % 8 == 0
    assert all(
        entry["data_offsets"][0] % tensors[name].itemsize == 0
        for name, entry in json.loads(own[8 : _begin(own)]).items()
        if name != "__metadata__"
    )


def _begin(content: bytes) -> int:
    """Where the tensors begin."""
    return 8 + int(struct.unpack("<Q", content[:8])[0])


def _entries(content: bytes) -> dict[str, Any]:
    """The header but for the places of tensors, whose order is free."""
    header = json.loads(content[8 : _begin(content)])
    return {
        name: {key: value for key, value in entry.items() if key != "data_offsets"}
        for name, entry in header.items()
    }
