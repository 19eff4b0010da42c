"""A text as a file that is as long as its surprise, and back: the proof of a model's bits.

    python examples/compress.py shakespeare play.txt play.packed
    python examples/compress.py shakespeare play.packed play.txt --unpack

A range coder (pip install constriction) writes a symbol of probability p in -log2 p bits. The text
is cut into lanes, which the model reads side by side, each from the zero state: a lane costs some
20 bits. Unpacking has to meet the same probabilities to the last bit, so it needs the machine and
the version of PyTorch that packed the file.
"""

import argparse
from contextlib import suppress
from pathlib import Path

import constriction
import numpy as np
import torch

import seqkit

LANES = 8
PER_LANE = constriction.stream.model.Categorical(perfect=False)


class Reader:
    """A model that reads B lanes, one step after another."""

    def __init__(self, model: seqkit.Model) -> None:
        self._network = model.char_rnn
        self._state = self._network.zero_state(LANES)
        self._before = torch.full((1, LANES), model.codec.start)

    @torch.inference_mode()
    def expected(self) -> np.ndarray:
        """The probabilities (B, V) of the symbols to come."""
        logits, self._state = self._network(self._before, self._state)
        return logits[0].double().softmax(-1).float().numpy()

    def read(self, symbols: np.ndarray) -> None:
        """Go on after symbols (B,)."""
        self._before = torch.from_numpy(symbols.astype(np.int64))[None]


def pack(model: seqkit.Model, text: str) -> bytes:
    """The number of symbols in four bytes, then the words of the range coder."""
    symbols = model.encode(text).astype(np.int32)
    steps = -(-len(symbols) // LANES)
    reader, coder = Reader(model), constriction.stream.queue.RangeEncoder()
    for row in np.resize(symbols, LANES * steps).reshape(LANES, steps).T:  # (T, B), filled up
        coder.encode(np.ascontiguousarray(row), PER_LANE, reader.expected())
        reader.read(row)
    return np.array([len(symbols), *coder.get_compressed()], "<u4").tobytes()


def unpack(model: seqkit.Model, packed: bytes) -> str:
    """The text of what `pack` returned."""
    length, *words = np.frombuffer(packed, "<u4").tolist()
    rows = np.zeros((-(-length // LANES), LANES), np.int32)
    reader, coder = Reader(model), constriction.stream.queue.RangeDecoder(np.uint32(words))
    with suppress(AssertionError):  # constriction's, where no symbol has such a number
        for row in rows:
            row[:] = coder.decode(PER_LANE, reader.expected())
            reader.read(row)
        if coder.maybe_exhausted():
            return model.codec.decode(rows.T.ravel()[:length])
    raise SystemExit("it was packed with another model, machine or PyTorch")


def main() -> None:
    """Pack a text, and say how many bits a character takes; or unpack one."""
    parser = argparse.ArgumentParser(description="A text in as many bits as a model expects.")
    parser.add_argument("run", help="a run's folder, a checkpoint's file, or shakespeare")
    parser.add_argument("source", type=Path, help="the text; with --unpack the packed file")
    parser.add_argument("target", type=Path, help="the file to write")
    parser.add_argument("--unpack", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)  # more might round otherwise
    model = seqkit.load(given.run, device="cpu")
    if given.unpack:
        given.target.write_bytes(unpack(model, given.source.read_bytes()).encode())
        return
    text = given.source.read_bytes().decode()
    given.target.write_bytes(packed := pack(model, text))
    ideal = model.nats(text).mean(dtype=float) / np.log(2)
    print(f"{8 * len(packed) / len(text):.4f} bits per character, of the model's {ideal:.4f}")


if __name__ == "__main__":
    main()
