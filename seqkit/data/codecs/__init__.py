"""Symbols and what they stand for: pure maps that can describe and rebuild themselves.

A codec turns its material (text, bytes, a wave) into integers 0 … V-1 and back. `size` is V;
`start` is the symbol that stands before the first one of every document, in training as in
generation; `to_spec()` is a JSON object from which `from_spec` rebuilds the codec.
"""

from collections.abc import Mapping
from typing import Any

from seqkit.data.codecs.characters import Bytes, Characters, UnknownSymbolError, code_points
from seqkit.data.codecs.quantisers import Linear, MuLaw, Quantiser

__all__ = [
    "Bytes",
    "Characters",
    "Codec",
    "Linear",
    "MuLaw",
    "Quantiser",
    "TextCodec",
    "UnknownSymbolError",
    "code_points",
    "from_spec",
]

TextCodec = Characters | Bytes
Codec = TextCodec | Quantiser


def from_spec(spec: Mapping[str, Any]) -> Codec:
    """Rebuild a codec from `to_spec()`; only the names below are known, nothing is imported.

    Raises:
        ValueError: an unknown name, or values that do not make a codec.
    """
    match spec.get("name"):
        case "bytes":
            return Bytes()
        case "characters":
            return Characters.from_spec(spec)
        case "mu_law":
            return MuLaw.from_spec(spec)
        case "linear":
            return Linear.from_spec(spec)
        case name:
            raise ValueError(f"unknown codec {name!r}")
