"""Files to compressed files and back, block by block, with a model on its own device."""

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from seqkit.compression import contents
from seqkit.compression.coder import BlockCoder, Coder, Watch
from seqkit.compression.container import CodedBlock, Header, Reader, Writer
from seqkit.compression.fresh import Fresh
from seqkit.config import DynamicConfig
from seqkit.data.codecs import Codec
from seqkit.foundation.device import DTYPES, choose_precision, settings_of_training
from seqkit.foundation.errors import CheckpointError
from seqkit.foundation.threads import lasting, shared_cores
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


@dataclass(frozen=True)
class Predictor:
    """What predicts a file: a model, on the device that computes, and its codec."""

    model: CharRNN
    codec: Codec

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.model.head.weight.device

    @property
    def device_name(self) -> str:
        """cpu, or the name of the GPU."""
        gpu = self.device.type == "cuda"
        return torch.cuda.get_device_name(self.device) if gpu else "cpu"

    @property
    def identity(self) -> str:
        """A digest of the weights, the architecture and the codec."""
        config = dataclasses.asdict(self.model.config)
        if not self.model.config.ends:  # earlier versions do not know these keys
            del config["ends"]
        if not self.model.config.labels:
            del config["labels"], config["label_size"]
        if self.model.config.frame == 1:
            del config["symbols_per_step"], config["head_size"]
        record = [config, self.codec.to_spec()]
        digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode())
        for name, values in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(values.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:32]

    def header(self, size: int, learn: DynamicConfig | None) -> Header:
        """How a file of so many bytes or samples is compressed here; the probe is yet to come."""
        # B is a power of two that grows as the root of the size; half as many learn more often.
        power = size.bit_length() // 2 - (4 if learn else 3)
        lanes = min(1 << max(0, power), _MOST_LANES[self.device.type])
        if learn and size <= learn.window * lanes:
            learn = None  # there is nothing after the first window
        return Header(
            model=self.identity,
            kind=self.codec.kind,
            size=size,
            lanes=lanes,
            device=self.device_name,
            dtype=choose_precision("auto", self.device),
            threads=lasting() if learn or lanes >= _ENOUGH_LANES else 1,
            torch=torch.__version__,
            learn=learn,
            probe="",
        )

    def coder(self, header: Header) -> Coder:
        """What codes as the header says."""
        return Coder(
            self.model,
            self.codec.size,
            start=self.codec.start,
            lanes=header.lanes,
            dtype=DTYPES[header.dtype],
            learn=header.learn,
        )

    @contextlib.contextmanager
    def arithmetic(self, header: Header) -> Iterator[None]:
        """Compute in the block as the header says: to learn, by operations that repeat."""
        cores = shared_cores(self.device, exactly=header.threads)
        with cores, settings_of_training(self.device, header.learn is not None):
            yield


def compress(
    predictor: Predictor | Fresh,
    pieces: Iterable[Any],
    size: int,
    write: Callable[[bytes], object],
    watch: Callable[[int], None] = lambda done: None,
    learn: DynamicConfig | None = None,
) -> Packed:
    """Write a compressed file.

    Args:
        predictor: of the file.
        pieces: of the original: bytes; of sound, symbols (n,).
        size: of the original in bytes; of sound, about how many samples.
        write: takes the compressed file part by part.
        watch: told how much of the original is done: bytes, or samples of sound.
        learn: how the model goes on learning while it codes, each window only after it was coded;
            the predictor's model keeps its weights. None: it does not.

    Raises:
        DataError: the codec of a plug-in failed.
    """
    codec, header = predictor.codec, predictor.header(size, learn)
    checksum, done, left = hashlib.sha256(), 0, 0

    def hashed() -> Iterator[Any]:
        for piece in pieces:
            checksum.update(piece)
            yield piece

    with predictor.arithmetic(header):
        coder = predictor.coder(header)
        writer = Writer(write, dataclasses.replace(header, probe=_probe(coder)))
        for block in contents.cut(codec, hashed(), header.lanes):
            states, words = _NO_STATES, _NO_WORDS
            if len(block.symbols):
                states, words = coder.encode(
                    block.symbols, _within(watch, done, len(block.content))
                )
            coded = CodedBlock(len(block.symbols), states, words, block.beside)
            if codec.kind != "audio" and coded.size > _POOR * len(block.content):
                run = CodedBlock(0, _NO_STATES, _NO_WORDS, contents.one_run(block.content).beside)
                coded = min(coded, run, key=lambda candidate: candidate.size)
            if not coded.length:
                coder.forget()  # a decoder has learnt nothing of what the model does not code
                left += len(block.content)
            writer.block(coded)
            done += len(block.content)
            watch(done)
    writer.close(checksum.digest())
    return Packed(writer.size, left)


def decompress(
    predictor: Predictor | Fresh, packed: Reader, watch: Callable[[int], None] = lambda done: None
) -> Iterator[Any]:
    """Yield the original piece by piece: bytes; of sound, symbols (n,).

    Only when the last piece has been taken is it certain that all of them were right.

    Raises:
        CheckpointError: another model, device or arithmetic than it was compressed with.
        DataError: the file is damaged.
    """
    header, name, device = packed.header, packed.name, predictor.device
    if header.device_type != device.type:
        raise CheckpointError(
            f"{name}: compressed on {header.device}: it takes device={header.device_type}, not "
            f"{device.type}"
        )
    if predictor.identity != header.model:
        raise CheckpointError(f"{name}: compressed with another checkpoint: give that one")
    here = dataclasses.replace(header, device=predictor.device_name, torch=torch.__version__)
    other = CheckpointError(
        f"{name}: compressed on {header.machine}, whose arithmetic differs from this one's "
        f"({here.machine}): decompress it there"
    )
    checksum, done = hashlib.sha256(), 0
    with predictor.arithmetic(header):
        coder = predictor.coder(header)
        if _probe(coder) != header.probe:
            raise other
    for length, states, words, beside in packed.blocks(coder.ways):
        symbols = np.zeros(0, np.uint8)
        if length:
            with predictor.arithmetic(header):
                symbols = coder.decode(length, states, words, _within(watch, done, length))
        else:
            coder.forget()
        piece = contents.join(predictor.codec, symbols, beside)
        checksum.update(piece)
        done += len(piece)
        watch(done)
        yield piece
    if checksum.digest() != packed.sha256():
        raise other


def _probe(coder: BlockCoder) -> str:
    return hashlib.sha256(coder.probe()).hexdigest()[:16]


def _within(watch: Callable[[int], None], done: int, size: int) -> Watch:
    """Tells the progress within a block that follows `done`."""
    return lambda share: watch(done + int(share * size))
