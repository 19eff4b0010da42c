"""What predicts a file without a checkpoint: it begins with nothing, and learns while it reads."""

import contextlib
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch

from seqkit.compression.container import Header
from seqkit.compression.mixing import Mixer
from seqkit.config import DynamicConfig
from seqkit.data.codecs import Bytes
from seqkit.foundation.errors import CheckpointError, DataError
from seqkit.foundation.threads import shared_cores
from seqkit.symbols import Symbols

_MOST_LANES = 32
_KIND = "bytes"
_NAME = f"{_KIND}2:"  # counted up where other arithmetic makes other files
"""What the header names, and then a bit for each value that occurs, in hexadecimal."""


class KnownBytes(Bytes):
    """A symbol for each byte value that occurs in a file, in order."""

    def __init__(self, known: bytes) -> None:
        """For these V values, at least one."""
        self.known, self.size = known, len(known)
        self._values = np.frombuffer(known, np.uint8)

    def encode(self, piece: str | bytes, unknown: str = "error") -> Symbols:
        """The symbols (N,) of bytes; of others some symbols."""
        places = self._values.searchsorted(super().encode(piece))
        return places.clip(max=self.size - 1).astype(np.uint8)

    def decode(self, symbols: npt.ArrayLike) -> bytes:
        """The bytes of the symbols (N,)."""
        values: npt.NDArray[np.uint8] = self._values[np.asarray(symbols)]
        return values.tobytes()


class Fresh:
    """Predicts a file without a checkpoint, as `Predictor` does with a model."""

    device: ClassVar[torch.device] = torch.device("cpu")
    device_name: ClassVar[str] = "cpu"

    def __init__(self, identity: str) -> None:
        """As the header names it.

        Raises:
            DataError: it is no such name.
            CheckpointError: of another version.
        """
        self.identity = identity
        if not identity.startswith(_NAME):
            raise CheckpointError(
                f"compressed as {identity.partition(':')[0]}, and this seqkit reads {_NAME[:-1]}: "
                "use the version of seqkit that wrote it"
            )
        try:
            bits = np.frombuffer(bytes.fromhex(identity.removeprefix(_NAME)), np.uint8)
            known = bytes(np.flatnonzero(np.unpackbits(bits)).tolist())
        except ValueError as error:
            raise DataError("its header cannot be read") from error
        self.codec = KnownBytes(known or b"\0")

    @classmethod
    def of(cls, pieces: Iterable[bytes]) -> "Fresh":
        """For a file, which comes in pieces."""
        occurs = np.zeros(256, bool)
        for piece in pieces:
            occurs[np.frombuffer(piece, np.uint8)] = True
        return cls(_NAME + np.packbits(occurs).tobytes().hex())

    @staticmethod
    def made(header: Header) -> bool:
        """Whether a file was compressed without a checkpoint."""
        return header.model.startswith(_KIND)

    def header(self, size: int, learn: DynamicConfig | None) -> Header:
        """How a file of so many bytes is compressed; the probe is yet to come."""
        lanes = min(1 << max(0, size.bit_length() // 2 - 4), _MOST_LANES)
        place = (self.identity, "bytes", size, lanes, self.device_name, "fp32", 1)
        return Header(*place, torch=torch.__version__, learn=None, probe="")

    def coder(self, header: Header) -> Mixer:
        """What codes as the header says."""
        return Mixer(self.codec.known, header.lanes, header.size)

    def arithmetic(self, header: Header) -> contextlib.AbstractContextManager[object]:
        """Compute in one thread, which is enough."""
        return shared_cores(exactly=header.threads)
