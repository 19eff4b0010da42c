"""Bytes and waves made small in memory, as the commands do it with files."""

import io

import numpy as np

from seqkit.compression.compress import compress, decompress
from seqkit.compression.container import Reader
from seqkit.config import DynamicConfig
from seqkit.data.codecs import Codec
from seqkit.data.sound import Wave
from seqkit.foundation.settings import check_section, check_type
from seqkit.generation.medium import Medium
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Symbols


def pack(
    model: CharRNN, codec: Codec, medium: Medium, content: object, learn: DynamicConfig | None
) -> bytes:
    """Bytes, or a wave (N,) for a model of sound, compressed. Raises ConfigError for others."""
    check_type("learn", learn, DynamicConfig | None)
    if learn:
        check_section(learn, "learn.")
    pieces: list[bytes] | list[Symbols]
    if codec.kind == "audio":
        pieces = [medium.encode("content", content)]
    else:
        check_type("content", content, bytes)
        assert isinstance(content, bytes)
        pieces = [content]
    made: list[bytes] = []
    compress(model, codec, pieces, len(pieces[0]), made.append, learn=learn)
    return b"".join(made)


def unpack(model: CharRNN, codec: Codec, medium: Medium, packed: bytes) -> bytes | Wave:
    """What `pack` was given; of sound, the wave of its symbols.

    Raises:
        DataError: these are no bytes that `pack` returned.
        CheckpointError: another model, or another machine, compressed them.
    """
    check_type("packed", packed, bytes)
    pieces = list(decompress(model, codec, Reader(io.BytesIO(packed), "packed")))
    if codec.kind == "audio":
        wave: Wave = medium.decode(np.concatenate([np.zeros(0, np.uint8), *pieces]))
        return wave
    return b"".join(pieces)
