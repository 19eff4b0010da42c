"""The slow tier of sound: a small network writes codes, which the large one then sounds."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqkit.conditions import StreamConditions, Written
from seqkit.data.codecs import SoundCodec
from seqkit.data.sound.pitch import PitchBook
from seqkit.data.sound.slow_codes import Codebook
from seqkit.foundation.config_file import network_from
from seqkit.foundation.randomness import uniforms
from seqkit.generation.engine import Engine, generate_blocks
from seqkit.generation.labelled import Choice
from seqkit.generation.sampling import Sampling, guided
from seqkit.model.arrays import NetworkArrays, shapes
from seqkit.symbols import Integers, NamedArrays, Symbols, symbol_dtype

_STREAM = 1 << 33  # of draws; no sample has it
_GOLDEN = (5**0.5 - 1) / 2  # multiples of which, modulo 1, are spread evenly, however many
_READ = 100  # codes that the writer reads before it writes
_OF_BOOK, _WRITER = ("mean", "basis", "centres"), "writer."
_BOOKS: dict[str, type[Codebook]] = {book.kind: book for book in (Codebook, PitchBook)}
_SEEDS = (1 << 63) - 1


@dataclass(frozen=True)
class Writing:
    """How codes are written.

    streams, seed: how many streams there are, and the seed of their draws.
    choice, strength: their labels, and how far these go: see `Request.label_strength`.
    ends: whether a stream ends with its document; from there on its codes are below 0.
    engine_of: builds what runs a network that writes, of V symbols.
    """

    streams: int
    seed: int
    choice: Choice | None = None
    strength: float = 1.0
    ends: bool = False
    engine_of: "Callable[[NetworkArrays, int, Writing], Engine]" = field(kw_only=True)


@dataclass(frozen=True)
class SlowTier:
    """The codes of a recording, and what writes more of them.

    codebook: what the codes stand for.
    codes: of the recording, (frames,).
    writer: the network that writes codes.
    """

    codebook: Codebook
    codes: Symbols
    writer: NetworkArrays

    def record(self) -> dict[str, Any]:
        """What a checkpoint keeps beside `tensors`."""
        config = dataclasses.asdict(self.writer.config)
        book = self.codebook
        kind = {} if book.kind == Codebook.kind else {"kind": book.kind}
        return {"sample_rate": book.sample_rate, "writer": config} | kind

    def tensors(self) -> NamedArrays:
        """The numbers of codebook, codes and writer, by name."""
        book = self.codebook
        tensors: NamedArrays = {name: getattr(book, name) for name in _OF_BOOK}
        tensors["codes"] = self.codes.astype(np.int64)
        return tensors | {_WRITER + name: part for name, part in self.writer.weights.items()}

    @classmethod
    def of_saved(cls, record: dict[str, Any], tensors: NamedArrays) -> "SlowTier":
        """What `record` and `tensors` were taken from.

        Raises:
            KeyError, TypeError, ValueError, RuntimeError, ConfigError: they are something else.
        """
        config = network_from(record["writer"])
        weights = {k.removeprefix(_WRITER): v for k, v in tensors.items() if k.startswith(_WRITER)}
        if {name: part.shape for name, part in weights.items()} != shapes(config):
            raise ValueError("weights that do not fit the writer of codes")
        parts = (tensors[name] for name in _OF_BOOK)
        book = _BOOKS[record.get("kind", Codebook.kind)](int(record["sample_rate"]), *parts)
        codes = tensors["codes"]
        if not len(codes) or codes.min() < 0 or codes.max() >= book.size:
            raise ValueError("codes that are not in the codebook")
        if config.symbols != book.size:
            raise ValueError(f"a writer of {config.symbols} codes for {book.size}")
        return cls(book, codes.astype(symbol_dtype(book.size)), NetworkArrays(config, weights))

    def of_prompt(self, codec: SoundCodec, prompt: Symbols) -> Symbols:
        """The codes of a prompt's symbols (N,)."""
        if not len(prompt):
            return self.codes[:0]
        codes = self.codebook.codes(self.codebook.describe(codec.frames(prompt).mean(1)))
        return np.repeat(codes, codec.symbols_of(self.codebook.hop))[: len(prompt)]

    def following(self, codec: SoundCodec, like: Symbols) -> Written:
        """Codes that are given, (frames,), the same for all streams."""
        codes, hop = like[:, None].astype(np.int64), codec.symbols_of(self.codebook.hop)
        return lambda place, count: codes[np.arange(place, place + count) // hop]

    def written(self, codec: SoundCodec, of_prompt: Symbols, writing: Writing) -> Written:
        """Codes of what follows a prompt whose symbols have these codes (N,), asked for in turn."""
        hop, streams = codec.symbols_of(self.codebook.hop), writing.streams
        # The frame that is cut is written again.
        heard, cut = divmod(len(of_prompt), hop)
        if heard:
            before = np.repeat(of_prompt[::hop][:heard, None][-_READ:], streams, 1)
        elif writing.choice is not None:  # each begins a document, after the start symbol
            before = np.zeros((1, streams), np.int64)
        else:  # the streams go on from places that are spread over the recording
            drawn = (uniforms(writing.seed, _STREAM, 0, 1)[0] + _GOLDEN * np.arange(streams)) % 1
            rows = np.arange(-_READ, 0)[:, None] + (drawn * len(self.codes)).astype(int)
            before = self.codes[rows % len(self.codes)]
        blocks = self._blocks(before.astype(np.int64), writing)
        ready: Integers = np.zeros((0, streams), np.int64)
        first = 0  # the frame of its first row

        def of_symbols(place: int, count: int) -> Integers:
            nonlocal ready, first
            frames = (np.arange(place, place + count) + cut) // hop - first
            while len(ready) <= frames[-1]:
                ready = np.concatenate([ready, next(blocks)])
            codes = np.asarray(ready[frames])
            ready, first = ready[frames[0] :], first + int(frames[0])
            return codes

        return of_symbols

    def _blocks(self, before: Integers, writing: Writing) -> Iterator[Integers]:
        """Codes in blocks (n, S), after those before, (n, S), without end or up to it."""
        writer, choices = self.writer, np.zeros(writing.streams, np.int64)
        if writing.choice is not None:
            choices = writing.choice.of_streams(writing.strength)
            before = np.tile(before, len(choices) // before.shape[1])
        conditions, size = StreamConditions(choices), self.codebook.size + writing.ends
        engine = writing.engine_of(writer, size, writing)
        begin = writer.zero_state(len(choices))
        logits, state = engine.score(before, begin, conditions.of_new(0, len(before)))
        sampling = Sampling(1.0, seed=(writing.seed ^ _STREAM) & _SEEDS)
        last = guided(logits[-1], writing.strength)
        first_codes = last[:, : self.codebook.size]  # no document is empty
        blocks = generate_blocks(
            engine, first_codes, state, 1 << 62, sampling, conditions=conditions.of_new
        )
        ended = np.zeros(1, bool)
        for block in blocks:
            over = np.logical_or.accumulate(block == self.codebook.size) | ended
            yield np.where(over, -1, block)
            ended = over[-1]
