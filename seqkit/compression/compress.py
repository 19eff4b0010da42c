"""Files to compressed files and back, block by block, with a model on its own device."""

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from seqkit.compression import contents
from seqkit.compression.coder import Coder, Watch
from seqkit.compression.container import CodedBlock, Header, Reader, Writer
from seqkit.compression.contents import Block
from seqkit.config import DynamicConfig
from seqkit.data.codecs import Codec
from seqkit.foundation.device import DTYPES, choose_precision, settings_of_training
from seqkit.foundation.errors import CheckpointError
from seqkit.foundation.machine import lasting_threads
from seqkit.model.char_rnn import CharRNN

_MOST_LANES = {"cpu": 128, "cuda": 512}
_ENOUGH_LANES = 32  # to be worth more than one thread
_POOR = 1 / 4  # of the original: LZMA may do better on a block that the model does not know
_NO_STATES, _NO_WORDS = np.zeros(0, np.uint64), np.zeros(0, np.uint32)


class Packed(NamedTuple):
    """What a compressed file came to.

    size: its bytes.
    left: bytes of the original that were left to LZMA, which does better there than the model.
    """

    size: int
    left: int


def compress(
    model: CharRNN,
    codec: Codec,
    pieces: Iterable[Any],
    size: int,
    write: Callable[[bytes], object],
    watch: Callable[[int], None] = lambda done: None,
    learn: DynamicConfig | None = None,
) -> Packed:
    """Write a compressed file.

    Args:
        model: on the device that computes.
        codec: the model's.
        pieces: of the original: bytes; of sound, symbols (n,).
        size: of the original in bytes; of sound, about how many samples.
        write: takes the compressed file part by part.
        watch: told how much of the original is done: bytes, or samples of sound.
        learn: how the model goes on learning while it codes, each window only after it was coded;
            `model` keeps its weights. None: it does not.

    Raises:
        DataError: the codec of a plug-in failed.
    """
    header = _header(model, codec, size, learn)
    checksum, done, left = hashlib.sha256(), 0, 0

    def hashed() -> Iterator[Any]:
        for piece in pieces:
            checksum.update(piece)
            yield piece

    with _coder(model, codec, header) as coder:
        writer = Writer(write, dataclasses.replace(header, probe=_probe(coder)))
        for block in contents.cut(codec, hashed(), header.lanes):
            coded = _coded(coder, block, _within(watch, done, len(block.content)))
            if codec.kind != "audio" and coded.size > _POOR * len(block.content):
                run = CodedBlock(0, _NO_STATES, _NO_WORDS, contents.one_run(block.content).beside)
                coded = min(coded, run, key=lambda own: own.size)
            if not coded.length:
                coder.forget()  # a decoder has learnt nothing of what the model does not code
                left += len(block.content)
            writer.block(coded)
            done += len(block.content)
            watch(done)
    writer.close(checksum.digest())
    return Packed(writer.size, left)


def decompress(
    model: CharRNN, codec: Codec, packed: Reader, watch: Callable[[int], None] = lambda done: None
) -> Iterator[Any]:
    """Yield the original piece by piece: bytes; of sound, symbols (n,).

    Only when the last piece has been taken is it certain that all of them were right.

    Raises:
        CheckpointError: another model, device or arithmetic than it was compressed with.
        DataError: the file is damaged.
    """
    header, name = packed.header, packed.name
    where = model.head.weight.device
    if header.device_type != where.type:
        raise CheckpointError(
            f"{name}: compressed on {header.device}: it takes device={header.device_type}, not "
            f"{where.type}"
        )
    if identity(model, codec) != header.model:
        raise CheckpointError(f"{name}: compressed with another checkpoint: give that one")
    here = dataclasses.replace(header, device=_name(where), torch=torch.__version__)
    other = CheckpointError(
        f"{name}: compressed on {header.machine}, whose arithmetic differs from this one's "
        f"({here.machine}): decompress it there"
    )
    checksum, done = hashlib.sha256(), 0
    with _coder(model, codec, header) as coder:
        if _probe(coder) != header.probe:
            raise other
        for length, states, words, beside in packed.blocks(coder.ways):
            symbols = np.zeros(0, np.uint8)
            if length:
                symbols = coder.decode(length, states, words, _within(watch, done, length))
            else:
                coder.forget()
            piece = contents.join(codec, symbols, beside)
            checksum.update(piece)
            done += len(piece)
            watch(done)
            yield piece
    if checksum.digest() != packed.sha256():
        raise other


def identity(model: CharRNN, codec: Codec) -> str:
    """What a model is known by: a digest of its weights, its architecture and its codec."""
    config = dataclasses.asdict(model.config)
    if not model.config.ends:  # earlier versions do not know these keys
        del config["ends"]
    if not model.config.labels:
        del config["labels"], config["label_size"]
    record = [config, codec.to_spec()]
    digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode())
    for name, values in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(values.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


def _header(model: CharRNN, codec: Codec, size: int, learn: DynamicConfig | None) -> Header:
    """How a file of so many bytes or samples is compressed here; the probe is yet to come."""
    where = model.head.weight.device
    lanes = _lanes(size, where, learn=learn is not None)
    if learn and size <= learn.window * lanes:
        learn = None  # there is nothing after the first window
    return Header(
        model=identity(model, codec),
        kind=codec.kind,
        size=size,
        lanes=lanes,
        device=_name(where),
        dtype=choose_precision("auto", where),
        threads=lasting_threads() if learn or lanes >= _ENOUGH_LANES else 1,
        torch=torch.__version__,
        learn=learn,
        probe="",
    )


def _lanes(size: int, where: torch.device, *, learn: bool) -> int:
    """B, a power of two that grows as the root of the size does; half as many to learn more
    often.
    """
    power = size.bit_length() // 2 - (4 if learn else 3)
    return min(1 << max(0, power), _MOST_LANES[where.type])


@contextlib.contextmanager
def _coder(model: CharRNN, codec: Codec, header: Header) -> Iterator[Coder]:
    """What codes as the header says, and in the block with operations that repeat to the bit."""
    before = torch.get_num_threads()
    torch.set_num_threads(header.threads)
    try:
        with settings_of_training(model.head.weight.device, header.learn is not None):
            yield Coder(
                model,
                codec.size,
                start=codec.start,
                lanes=header.lanes,
                dtype=DTYPES[header.dtype],
                learn=header.learn,
            )
    finally:
        torch.set_num_threads(before)


def _name(where: torch.device) -> str:
    return torch.cuda.get_device_name(where) if where.type == "cuda" else "cpu"


def _probe(coder: Coder) -> str:
    return hashlib.sha256(coder.probe()).hexdigest()[:16]


def _within(watch: Callable[[int], None], done: int, size: int) -> Watch:
    """Tells the progress within a block that follows `done`."""
    return lambda share: watch(done + int(share * size))


def _coded(coder: Coder, block: Block, watch: Watch) -> CodedBlock:
    states, words = _NO_STATES, _NO_WORDS
    if len(block.symbols):
        states, words = coder.encode(block.symbols, watch)
    return CodedBlock(len(block.symbols), states, words, block.beside)
