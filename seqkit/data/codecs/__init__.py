"""Symbols and what they stand for: pure maps that can describe and rebuild themselves.

A codec turns text, bytes or a wave into integers 0 … V-1 and back. `kind` says which of the three,
`size` is V, and `start` is the symbol that stands before the first one of every document, in
training as in generation. `to_spec()` is a JSON object from which `from_spec` rebuilds the codec.
"""

import contextlib
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqkit.data.codecs.characters import Bytes as Bytes
from seqkit.data.codecs.characters import Characters as Characters
from seqkit.data.codecs.characters import TextCodec as TextCodec
from seqkit.data.codecs.characters import UnknownSymbolError as UnknownSymbolError
from seqkit.data.codecs.quantisers import Linear as Linear
from seqkit.data.codecs.quantisers import MuLaw as MuLaw
from seqkit.data.codecs.quantisers import Quantiser as Quantiser
from seqkit.data.codecs.spectral import Spectral as Spectral
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import DataError, failures_of, of_plugin

SoundCodec = Quantiser | Spectral
"""P symbols stand for a frame of C channels. Documents begin with whole frames."""
Codec = TextCodec | SoundCodec


def find(name: str, catalogue: Catalogue) -> type[Codec]:
    """The class of codecs that goes by a name. Raises ConfigError."""
    codec: type[Codec] = catalogue.find("codecs", name)
    return codec


def from_spec(spec: Mapping[str, Any], catalogue: Catalogue) -> Codec:
    """Rebuild a codec from `to_spec()`.

    Only names in the catalogue are known: what a spec says is never imported.

    Raises:
        ConfigError: no codec has the name.
        ValueError: the values do not make a codec.
    """
    name = spec.get("name") if isinstance(spec, Mapping) else None
    if not isinstance(name, str):
        raise ValueError(f"unknown codec {name!r}")
    kind = find(name, catalogue)
    try:
        return kind.from_spec(spec)
    except Exception as error:
        raise ValueError(f"codec {name}: {of_plugin(error)}") from error


def spec_of(codec: Codec) -> dict[str, Any]:
    """The spec of a codec that was just made. Raises DataError where it or its start is faulty."""
    with failures(type(codec), "to_spec"):
        spec: dict[str, Any] = json.loads(json.dumps(codec.to_spec()))  # as it is read again
    if not 0 <= codec.start < codec.size:
        raise DataError(
            f"the codec {codec.name}: its start, {codec.start}, is none of its {codec.size} symbols"
        )
    return spec


def failures(kind: type[Codec], what: str) -> contextlib.AbstractContextManager[None]:
    """Name the codec, and `what` of it, in an error that its own code raises: `failures_of`."""
    return failures_of(f"the codec {kind.name}: its {what}")


def fingerprint(kind: type[Codec]) -> str:
    """What changes when the code of a plug-in's codec does; nothing for seqkit's own.

    Data encoded by older code is then encoded again.
    """
    file = Path(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")
    own = kind.__module__.startswith("seqkit.")
    return "" if own or not file.is_file() else hashlib.sha256(file.read_bytes()).hexdigest()
