"""A trained network beside its codec, from a checkpoint: it generates, and tells what it expects.

Each call starts from the zero state, or from a state that it is given. Arrays are NumPy's.
"""

import contextlib
import dataclasses
import itertools
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, Unpack

import numpy as np

from seqkit.data.corpus import Part
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.device import Device, exact_fp32, find_device, memory_errors
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_type
from seqkit.foundation.wording import counted
from seqkit.generation.engines import as_module
from seqkit.generation.generate import generate
from seqkit.generation.medium import medium_of
from seqkit.generation.sampler import Blocks, streams_of
from seqkit.model.state import State, zero_state
from seqkit.runs.asked import GenerateKeys, sample_keys
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.named_checkpoint import load_checkpoint
from seqkit.symbols import Floats, Integers, Symbols

if TYPE_CHECKING:
    import torch

    from seqkit.model.char_rnn import CharRNN

Content = TypeVar("Content")
"""What a codec stands for: str, bytes, or a wave, float32 (N,)."""

_LOG = logging.getLogger("seqkit")


@contextlib.contextmanager
def _own_settings() -> Iterator[None]:
    """Compute as seqkit does, whatever the caller has set; words for memory that runs out."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(memory_errors("Try device='cpu'."))
        if "torch" in sys.modules:
            import torch

            stack.enter_context(exact_fp32())
            stack.enter_context(torch.inference_mode(False))
        yield


class ModelState(NamedTuple):
    """What a model has read: hidden and cell values (L, H), and the symbol that it sees next.

    `frame` (n,) are those since the last step, of a model whose steps make P symbols: n is below P.
    """

    h: Floats
    c: Floats
    symbol: int
    frame: Floats = np.zeros(0, np.float32)


class CallKeys(GenerateKeys, total=False):
    """What calls that generate take."""

    state: ModelState | None


class Model(Generic[Content]):
    """A model of text (str), of bytes or of sound; `seqkit.load` makes one.

    Every method raises ConfigError for a value of a wrong type or out of range, and for a character
    that is not in the vocabulary; and DeviceError where memory runs out. One thread at a time may
    call models on a GPU: what fp32 means there is set for the whole process.
    """

    def __init__(self, checkpoint: Checkpoint, device: Device) -> None:
        """The network of a checkpoint, on a device."""
        self.codec = checkpoint.codec
        self.config = checkpoint.config
        self.metrics = checkpoint.metrics
        self._trained = checkpoint.trained(checkpoint.network(device))
        self._checkpoint = checkpoint
        self._medium = medium_of(checkpoint.codec)

    def __repr__(self) -> str:
        """What it is: `Model of text: 2 layers of 512 (lstm), 65 symbols, on cpu`."""
        model = self._checkpoint.model
        layers = f"{counted(model.num_layers, 'layer')} of {model.hidden_size} ({model.cell})"
        symbols = counted(self.codec.size, "symbol")
        return f"Model of {self.codec.kind}: {layers}, {symbols}, on {self._trained.model.device}"

    @property
    def device(self) -> "torch.device":
        """Where the network is."""
        import torch

        return torch.device(self._trained.model.device)

    @property
    def char_rnn(self) -> "CharRNN":
        """The network as PyTorch's module, which other calls then use: to read, or to learn."""
        module = as_module(self._trained.model)
        self._trained = dataclasses.replace(self._trained, model=module)
        return module

    def _begin(self, state: ModelState | None) -> ModelState:
        """A given state, checked; else zeros and the codec's start symbol."""
        config, size = self._checkpoint.model, self.codec.size
        start = _kept(zero_state(config, 1), self.codec.start)
        if state is None:
            return start
        check_type("state", state, ModelState)
        parts = state.h, state.c, state.frame
        h, c, frame = (np.array(part, np.float32, order="C") for part in parts)
        fits = h.shape == c.shape == start.h.shape and frame.shape < (config.frame,)
        if not (fits and frame.ndim == 1 and 0 <= state.symbol < size):
            shapes = f"h and c (L, H) = {start.h.shape}, and {size} symbols"
            raise ConfigError(f"state: it is another model's: this one has {shapes}")
        return ModelState(h, c, int(state.symbol), frame)

    @property
    def labels(self) -> dict[str, list[str]]:
        """The values of each label that it learnt, by the label's name."""
        return self._checkpoint.labels.values if self._checkpoint.labels else {}

    @property
    def sample_rate(self) -> int | None:
        """Hertz of what a model of sound makes; None for others."""
        return getattr(self.codec, "sample_rate", None)

    @_own_settings()
    def generate(self, prompt: Content | None = None, **keys: Unpack[CallKeys]) -> Content:
        """The prompt and what follows it: what `python -m seqkit generate` makes of the same keys.

        Args:
            prompt: str for a model of text, bytes for one of bytes, a wave (N,) at `sample_rate`
                for one of sound, or (N, 2) for one of stereo, which also returns that.
            keys: length, until, temperature and so on, see `GenerateKeys`; and `state`, where to
                go on from, by default the zero state.
        """
        shown, blocks = self._made(prompt, keys)
        pieces = [shown, *(block[:, 0] for block in blocks)]
        content: Any = self._medium.decode(np.concatenate(pieces))
        return content  # type: ignore[no-any-return]

    @_own_settings()
    def generate_many(
        self, streams: int, prompt: Content | None = None, **keys: Unpack[CallKeys]
    ) -> list[Content]:
        """`streams` samples, made side by side as by `generate streams=…`; see `generate`."""
        check_type("streams", streams, int)
        shown, blocks = self._made(prompt, keys, streams)
        made = streams_of(blocks, self.codec) or [shown[:0]] * streams
        decode: Any = self._medium.decode
        return [decode(np.concatenate([shown, symbols])) for symbols in made]

    @_own_settings()
    def stream(self, prompt: Content | None = None, **keys: Unpack[CallKeys]) -> Iterator[Content]:
        """What `generate` makes, piece by piece as it is made; a prompt is one piece."""
        shown, blocks = self._made(prompt, keys)
        pieces = itertools.chain([shown], (block[:, 0] for block in blocks))
        contents: Iterator[Any] = self._medium.decoded(pieces)
        return (content for content in contents if len(content))  # one symbol may be no sample yet

    @_own_settings()
    def stream_symbols(
        self, prompt: Symbols | Integers, **keys: Unpack[CallKeys]
    ) -> Iterator[Integers]:
        """The symbols of what `stream` makes after those of a prompt, piece by piece."""
        _, blocks = self._made(prompt, keys, encoded=True)
        return (block[:, 0] for block in blocks)

    @_own_settings()
    def encode(self, content: Content, unknown: str = "error") -> Symbols:
        """The symbols (N,) of text, bytes or sound; `unknown` is as the key `sample.unknown`."""
        return self._encode("content", content, unknown)

    @_own_settings()
    def nats_of_symbols(
        self, symbols: Symbols | Integers, state: ModelState | None = None
    ) -> tuple[Floats, ModelState]:
        """-ln p (N,) of symbols (N,), each given those before it, and the state after them."""
        rows, after = self._rows(symbols, self._begin(state), "nats")
        return np.concatenate([np.zeros(0, np.float32), *rows]), after

    @_own_settings()
    def nats(self, content: Content, *, state: ModelState | None = None) -> Floats:
        """-ln p (N,) of each symbol, given those before it."""
        return self.nats_of_symbols(self._encode("content", content), state)[0]

    @_own_settings()
    def logits(self, content: Content, *, state: ModelState | None = None) -> Floats:
        """The logits (N + 1, V): row n is of what follows the first n symbols."""
        symbols = self._encode("content", content)
        rows, after = self._rows(symbols, self._begin(state), "logits")
        # One more input gives the row of what follows, whichever symbol does.
        last, _ = self._rows(np.zeros(1, np.uint8), after, "logits")
        return np.concatenate([*rows, *last])[:, : self.codec.size]

    @_own_settings()
    def state(
        self, content: Content | None = None, *, state: ModelState | None = None
    ) -> ModelState:
        """The state after reading something; of nothing, the state that every call starts from."""
        return self.nats_of_symbols(self._encode("content", content), state)[1]

    def _rows(
        self, symbols: Symbols | Integers, begin: ModelState, told: Literal["nats", "logits"]
    ) -> tuple[list[Floats], ModelState]:
        """What a `Chunk` of symbols (N,) has under a name, chunk by chunk; the state after them."""
        from seqkit.evaluation import scoring

        rows, after = list[Floats](), begin
        if not len(symbols):
            return rows, after
        (state, start), part = _carried(begin), Part.of(symbols.astype(np.uint32))
        scored, segments = scoring.Scored(self.char_rnn, part, start), scoring.streaming(part)
        for chunk in scoring.chunks(scored, segments, begin_state=state):
            rows.append(getattr(chunk, told)[:, 0].float().cpu().numpy())
            after = _kept(chunk.after, int(symbols[chunk.places[-1, 0]]))
        return rows, after

    def _made(
        self, prompt: Any, keys: CallKeys, streams: int = 1, encoded: bool = False
    ) -> tuple[Symbols, Iterator[Integers]]:
        """The prompt's symbols (N,), if they are part of the result, and blocks (N, S) after it."""
        begin = _carried(self._begin(keys.pop("state", None)))
        asked = sample_keys(keys, streams)
        symbols = prompt if encoded else self._encode("prompt", prompt, asked.sample.unknown)
        request = self._checkpoint.asked(asked).request
        blocks = generate(self._trained, symbols, request, _LOG.info, begin=begin)
        return symbols if asked.include_prompt else symbols[:0], _with_settings(blocks)

    def _encode(self, name: str, content: Content | None, unknown: str = "error") -> Symbols:
        """The symbols (N,) of what a call was given, none for None."""
        if content is None:
            return np.zeros(0, np.uint8)
        return self._medium.encode(name, content, unknown, _LOG.info)


def load(
    checkpoint: str | os.PathLike[str], device: str = "auto", plugins: Sequence[str] = ()
) -> Model[Any]:
    """The model of a run, of a checkpoint's file, or one that comes with seqkit.

    Args:
        checkpoint: a run's folder, of which the best checkpoint is taken, or a file; or the name of
            a ready-made model, shakespeare or etude, if no file or run is called so.
        device: auto, cpu, cuda or cuda:N.
        plugins: modules that bring the codec, where it is none of seqkit's.

    Raises:
        ConfigError: an argument of a wrong type, or a plug-in that cannot be used.
        CheckpointError: there is no checkpoint, or none that can be read.
        DeviceError: there is no such device, or its memory does not suffice.
    """
    check_type("checkpoint", checkpoint, str | os.PathLike)
    check_type("device", device, str)
    with _own_settings():
        saved = load_checkpoint(os.fspath(checkpoint), Catalogue(plugins), Console(quiet=True))
        return Model(saved, find_device(device))


def _with_settings(blocks: Blocks) -> Iterator[Integers]:
    """The blocks; what is between them runs with the caller's settings."""
    while True:
        with _own_settings():
            block = next(blocks, None)
        if block is None:
            return
        yield block


def _kept(state: State, symbol: int) -> ModelState:
    """A state of one stream, (L, 1, H), and the symbol that is fed next, as scripts have them."""
    h, c, frame = (part[:, 0] for part in state.arrays())
    return ModelState(h, c, symbol, frame[0])


def _carried(state: ModelState) -> tuple[State, int]:
    """A state as engines take it, (L, 1, H), and the symbol that is fed next."""
    parts = (state.h, state.c, state.frame[None])
    return State(*(np.asarray(part, np.float32)[:, None] for part in parts)), state.symbol
