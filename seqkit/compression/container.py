"""The compressed file: a header, blocks, the checksum of the original, and one of the file.

    mark      8 bytes, the last of which is the format's version
    header    its length (2 bytes), then `Header` as JSON
    block     lengths of N, states, words and what stands beside (4 bytes each); these
    sha256    of the original, 32 bytes
    digest    of all bytes before it, 16 bytes

All numbers are little-endian. Nothing is allocated on the word of a file whose digest is wrong.
"""

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from typing import BinaryIO, NamedTuple

import numpy as np

from seqkit.compression.contents import BLOCK
from seqkit.compression.rans import LEAST, MOST, States, Words
from seqkit.config import DynamicConfig
from seqkit.foundation.device import DTYPES
from seqkit.foundation.errors import CheckpointError, ConfigError, DataError
from seqkit.foundation.settings import check_section, check_type

MARK = b"\x8fSEQKIT"
"""How every compressed file begins."""
FORMAT = 1

_LENGTH = struct.Struct("<H")
_BLOCK = struct.Struct("<IIII")
_SHA256, _DIGEST = 32, 16  # bytes
_READ = 1 << 20  # bytes at a time
_MOST_LANES, _MOST_THREADS = 1 << 12, 1 << 10


@dataclass(frozen=True)
class Header:
    """What encoder and decoder have to agree on.

    model: identifies weights and codec.
    kind: of the codec: text, bytes or audio.
    size: bytes of the original; of sound, samples.
    lanes: B.
    device: cpu, or the name of a GPU.
    dtype: of the matrix products.
    threads: of a CPU.
    torch: PyTorch's version.
    learn: how the model went on learning; None if it did not.
    probe: identifies the arithmetic.
    """

    model: str
    kind: str
    size: int
    lanes: int
    device: str
    dtype: str
    threads: int
    torch: str
    learn: DynamicConfig | None
    probe: str

    @classmethod
    def read(cls, content: bytes) -> "Header":
        """The inverse of `written`. Raises ValueError, TypeError, RecursionError, ConfigError."""
        *values, learn, probe = json.loads(content)
        values += [None if learn is None else DynamicConfig(*learn), probe]
        header = cls(*values)
        for name, value in vars(header).items():
            check_type(name, value, cls.__annotations__[name])
        if header.learn is not None:
            check_section(header.learn, "dynamic.")
        lanes = header.lanes in (1 << power for power in range(_MOST_LANES.bit_length()))
        threads = 0 < header.threads <= _MOST_THREADS
        if not (lanes and threads and header.size >= 0 and header.dtype in DTYPES):
            raise ValueError("out of range")
        return header

    @property
    def written(self) -> bytes:
        """As it stands in the file."""
        return json.dumps(astuple(self), separators=(",", ":")).encode()

    @property
    def device_type(self) -> str:
        """cpu or cuda."""
        return "cpu" if self.device == "cpu" else "cuda"

    @property
    def machine(self) -> str:
        """Where it was made, in words."""
        threads = f" with {self.threads} thread{'s' if self.threads > 1 else ''}"
        return f"{self.device}{threads if self.device == 'cpu' else ''}, PyTorch {self.torch}"


class CodedBlock(NamedTuple):
    """What is stored of a block: N, the coder's states and words, and what stands beside."""

    length: int
    states: States
    words: Words
    beside: bytes

    @property
    def size(self) -> int:
        """In bytes."""
        return self.states.nbytes + self.words.nbytes + len(self.beside)


class Writer:
    """Writes a compressed file part by part."""

    def __init__(self, write: Callable[[bytes], object], header: Header) -> None:
        self._write = write
        self._digest = hashlib.sha256()
        self.size = 0
        """Bytes written."""
        content = header.written
        self._put(MARK + bytes([FORMAT]) + _LENGTH.pack(len(content)) + content)

    def block(self, block: CodedBlock) -> None:
        """Write the next block."""
        lengths = (block.length, len(block.states), len(block.words), len(block.beside))
        self._put(_BLOCK.pack(*lengths))
        self._put(block.states.astype("<u8").tobytes())
        self._put(block.words.astype("<u4").tobytes())
        self._put(block.beside)

    def close(self, sha256: bytes) -> None:
        """Write the end: the checksum of the original."""
        self._put(sha256)
        self._put(self._digest.digest()[:_DIGEST])

    def _put(self, content: bytes) -> None:
        self._write(content)
        self._digest.update(content)
        self.size += len(content)


class Reader:
    """A compressed file, checked whole before anything in it is believed."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        """Read the header; `name` is what messages call the file.

        Raises:
            DataError: no compressed file, or a damaged one.
            CheckpointError: a newer format.
        """
        self._stream = stream
        self.name = name
        mark = stream.read(len(MARK) + 1)
        if mark[:-1] != MARK:
            checkpoint = b'"__metadata__"' in mark + stream.read(32)
            what = "a checkpoint, no compressed file: give it as checkpoint"
            raise self._refused(what if checkpoint else "no file that seqkit compressed")
        self._end = self._checked_length() - _SHA256 - _DIGEST
        if mark[-1] != FORMAT:
            raise CheckpointError(
                f"{name}: format {mark[-1]}, and this seqkit reads format {FORMAT}: use the "
                "version of seqkit that wrote it"
            )
        stream.seek(len(mark))
        try:
            length = _LENGTH.unpack(stream.read(_LENGTH.size))[0]
            self.header = Header.read(stream.read(length))
        except (struct.error, ValueError, TypeError, RecursionError, ConfigError) as error:
            raise self._refused("its header cannot be read") from error

    def blocks(self, ways: int) -> Iterator[CodedBlock]:
        """The blocks, whose coder has so many states. Raises DataError."""
        while (place := self._stream.tell()) < self._end:
            head = self._stream.read(_BLOCK.size).ljust(_BLOCK.size, b"\xff")
            length, states, words, beside = _BLOCK.unpack(head)
            after = place + _BLOCK.size + 8 * states + 4 * words + beside
            if after > self._end or length > BLOCK or states != (ways if length else 0):
                raise self._refused("the lengths of a block cannot be true")
            block = CodedBlock(
                length,
                np.frombuffer(self._stream.read(8 * states), "<u8"),
                np.frombuffer(self._stream.read(4 * words), "<u4"),
                self._stream.read(beside),
            )
            if ((block.states < LEAST) | (block.states >= MOST)).any():
                raise self._refused("a state is out of range")
            yield block

    def sha256(self) -> bytes:
        """The checksum of the original."""
        self._stream.seek(self._end)
        return self._stream.read(_SHA256)

    def _checked_length(self) -> int:
        """The file's length in bytes. Raises DataError if its digest is wrong."""
        length = self._stream.seek(0, 2)
        left = length - _DIGEST
        self._stream.seek(0)
        digest = hashlib.sha256()
        while left > 0 and (part := self._stream.read(min(left, _READ))):
            digest.update(part)
            left -= len(part)
        if self._stream.read(_DIGEST) != digest.digest()[:_DIGEST]:
            raise self._refused("damaged or cut short: its digest does not match")
        return length

    def _refused(self, reason: str) -> DataError:
        return DataError(f"{self.name}: {reason}")
