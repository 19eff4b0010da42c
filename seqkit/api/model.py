"""A trained network beside its codec: it generates, and tells what it expects.

Each call starts from the zero state, or from a state that it is given. Arrays are NumPy's.
"""

import itertools
import logging
from collections.abc import Iterator
from typing import Generic, Literal, TypeVar, overload

import numpy as np
import torch

from seqkit.api import packing
from seqkit.api.kept_engine import KeptEngine
from seqkit.api.symbol_reader import ModelState, SymbolReader
from seqkit.config import Config, DynamicConfig, SampleConfig, check
from seqkit.data.sound import Wave
from seqkit.foundation.device import memory_errors
from seqkit.foundation.settings import check_type
from seqkit.generation.continuation import continue_prompt
from seqkit.generation.engine import Blocks, Engine
from seqkit.generation.medium import medium_of
from seqkit.generation.request import Request, request_of, with_seed
from seqkit.runs.checkpoint import Checkpoint, as_trained
from seqkit.symbols import Floats, Integers, Symbols

Content = TypeVar("Content")
"""What a codec stands for: str, bytes, or a wave, float32 (N,)."""

_LOG = logging.getLogger("seqkit")


def _advice() -> str:
    return "Try device='cpu'."


class Model(Generic[Content]):
    """A model of text (str), of bytes or of sound; `seqkit.load` makes one.

    Every method raises ConfigError for a value of a wrong type or out of range, and for a character
    that is not in the vocabulary; and DeviceError where memory runs out.
    """

    def __init__(self, checkpoint: Checkpoint, device: torch.device) -> None:
        """The network of a checkpoint, on a device."""
        self.codec = checkpoint.codec
        self.config = checkpoint.config
        self.metrics = checkpoint.metrics
        self.char_rnn = checkpoint.build(device)
        self._checkpoint = checkpoint
        self._medium = medium_of(checkpoint.codec, checkpoint.newline)
        self._reader = SymbolReader(self.char_rnn, checkpoint.codec)
        self._engine = KeptEngine(self.char_rnn, checkpoint.codec.size)

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.char_rnn.head.weight.device

    @property
    def sample_rate(self) -> int | None:
        """Hertz of what a model of sound makes; None for others."""
        return getattr(self.codec, "sample_rate", None)

    @overload
    def generate(
        self,
        prompt: Content | None = ...,
        *,
        length: int | None = ...,
        seconds: float | None = ...,
        temperature: float | None = ...,
        top_k: int | None = ...,
        top_p: float | None = ...,
        seed: int | None = ...,
        sample: SampleConfig | None = ...,
        state: ModelState | None = ...,
        return_state: Literal[False] = ...,
    ) -> Content: ...

    @overload
    def generate(
        self,
        prompt: Content | None = ...,
        *,
        length: int | None = ...,
        seconds: float | None = ...,
        temperature: float | None = ...,
        top_k: int | None = ...,
        top_p: float | None = ...,
        seed: int | None = ...,
        sample: SampleConfig | None = ...,
        state: ModelState | None = ...,
        return_state: Literal[True],
    ) -> tuple[Content, ModelState]: ...

    @memory_errors(_advice)
    def generate(
        self,
        prompt: Content | None = None,
        *,
        length: int | None = None,
        seconds: float | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        sample: SampleConfig | None = None,
        state: ModelState | None = None,
        return_state: bool = False,
    ) -> Content | tuple[Content, ModelState]:
        """The prompt and what follows it: what `python -m seqkit generate` makes of the same keys.

        Args:
            prompt: str for a model of text, bytes for one of bytes, a wave (N,) at `sample_rate`
                for one of sound, or (N, 2) for one of stereo, which also returns that.
            length: new symbols, 500 by default; of sound usually samples.
            seconds: of new sound, in place of `length`; 5 by default.
            temperature: divides the logits; by default what the training's samples had.
            top_k: draw among the k likeliest symbols only.
            top_p: draw among the likeliest symbols that make up this probability.
            seed: of the draws; by default a new one, which the logger `seqkit` is told.
            sample: the keys `sample.*`: engine, precision, unknown, retry.
            state: where to go on from; by default the zero state.
            return_state: whether to return the state after the last symbol, too.
        """
        begin = self._reader.begin(state)
        config = self._settings(
            length=length, seconds=seconds, temperature=temperature, top_k=top_k, top_p=top_p,
            seed=seed, sample=sample,
        )  # fmt: skip
        symbols = self._encode("prompt", prompt, config.sample.unknown)
        whole = np.concatenate([symbols, *self._blocks(symbols, config, begin)]).astype(np.int64)
        content: Content = self._medium.decode(whole)
        return (content, self._reader.after(whole, begin)) if return_state else content

    @memory_errors(_advice)
    def stream(
        self,
        prompt: Content | None = None,
        *,
        length: int | None = None,
        seconds: float | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        sample: SampleConfig | None = None,
        state: ModelState | None = None,
    ) -> Iterator[Content]:
        """What `generate` makes, piece by piece as it is made; the prompt is the first piece."""
        begin = self._reader.begin(state)
        config = self._settings(
            length=length, seconds=seconds, temperature=temperature, top_k=top_k, top_p=top_p,
            seed=seed, sample=sample,
        )  # fmt: skip
        symbols = self._encode("prompt", prompt, config.sample.unknown)
        pieces = itertools.chain([symbols], self._blocks(symbols, config, begin))
        decode = self._medium.decoder()
        return (decode(piece) for piece in pieces)

    @overload
    def nats(
        self,
        content: Content,
        *,
        state: ModelState | None = ...,
        return_state: Literal[False] = ...,
    ) -> Floats: ...

    @overload
    def nats(
        self, content: Content, *, state: ModelState | None = ..., return_state: Literal[True]
    ) -> tuple[Floats, ModelState]: ...

    @memory_errors(_advice)
    def nats(
        self, content: Content, *, state: ModelState | None = None, return_state: bool = False
    ) -> Floats | tuple[Floats, ModelState]:
        """-ln p (N,) of each symbol, given those before it."""
        found, after = self._reader.nats(self._encode("content", content), state)
        return (found, after) if return_state else found

    @memory_errors(_advice)
    def dynamic_nats(self, content: Content, dynamic: DynamicConfig | None = None) -> Floats:
        """`nats` by a copy of the network that learns as it reads: `evaluate protocol=dynamic`."""
        symbols = self._encode("content", content)
        return self._reader.dynamic_nats(symbols, DynamicConfig() if dynamic is None else dynamic)

    @overload
    def logits(
        self,
        content: Content,
        *,
        state: ModelState | None = ...,
        return_state: Literal[False] = ...,
    ) -> Floats: ...

    @overload
    def logits(
        self, content: Content, *, state: ModelState | None = ..., return_state: Literal[True]
    ) -> tuple[Floats, ModelState]: ...

    @memory_errors(_advice)
    def logits(
        self, content: Content, *, state: ModelState | None = None, return_state: bool = False
    ) -> Floats | tuple[Floats, ModelState]:
        """The logits (N + 1, V): row n is of what follows the first n symbols."""
        found, after = self._reader.logits(self._encode("content", content), state)
        return (found, after) if return_state else found

    @memory_errors(_advice)
    def activations(self, content: Content) -> Floats:
        """What each cell holds when a symbol is predicted, (N, L, H): tanh(c); h but for LSTMs."""
        return self._reader.activations(self._encode("content", content))

    @memory_errors(_advice)
    def state(
        self, content: Content | None = None, *, state: ModelState | None = None
    ) -> ModelState:
        """The state after reading something; of nothing, the state that every call starts from."""
        return self._reader.after(self._encode("content", content), self._reader.begin(state))

    @memory_errors(_advice)
    def compress(self, content: bytes | Wave, learn: DynamicConfig | None = None) -> bytes:
        """What `python -m seqkit compress` writes; with `learn`, a copy learns meanwhile."""
        return packing.pack(self.char_rnn, self.codec, self._medium, content, learn)

    @memory_errors(_advice)
    def decompress(self, packed: bytes) -> bytes | Wave:
        """What `compress` was given, of sound the wave of its symbols."""
        return packing.unpack(self.char_rnn, self.codec, self._medium, packed)

    def _settings(
        self,
        *,
        length: int | None,
        seconds: float | None,
        temperature: float | None,
        top_k: int | None,
        top_p: float | None,
        seed: int | None,
        sample: SampleConfig | None,
    ) -> Config:
        """The keys of a call, checked; those of sampling that are None as the training had them."""
        config = Config(
            length=length,
            seconds=seconds,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            sample=SampleConfig() if sample is None else sample,
        )
        check_type("sample", config.sample, SampleConfig)
        check(config)
        return with_seed(as_trained(config, self._checkpoint), _LOG.info)

    def _blocks(self, prompt: Symbols, config: Config, begin: ModelState) -> Iterator[Integers]:
        """The new symbols, in blocks (N,)."""
        request = request_of(config, self._medium.length(config.length, config.seconds))
        engine = self._engine.take(request)
        blocks = continue_prompt(
            self.char_rnn,
            self.codec,
            prompt,
            request,
            notice=_LOG.info,
            begin=self._reader.on_device(begin),
            engine=engine,
        )
        return self._until_free(blocks, request, engine)

    def _until_free(self, blocks: Blocks, request: Request, engine: Engine) -> Iterator[Integers]:
        with memory_errors(_advice):
            yield from self._engine.until_free(blocks, request, engine)

    def _encode(self, name: str, content: Content | None, unknown: str = "error") -> Symbols:
        """The symbols (N,) of what a call was given, none for None."""
        if content is None:
            return np.zeros(0, np.uint8)
        return self._medium.encode(name, content, unknown, _LOG.info)
