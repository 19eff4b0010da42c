"""The wasm engine: step.c, compiled to WebAssembly, run by wasmtime on one core of any CPU.

The exported page runs the same bytes, so that it makes the same symbols from the same draws.

An LSTM's weights are one piece of memory. Matrices are in 8 bits with a scale for each row. What a
symbol or a choice of labels adds to the bottom layer's gates is looked up in tables in 16 bits.
They are made in float64, so that a row is the same whatever other rows are made with it. If a step
has several symbols, what one adds to the gates and to what the next ones are written from comes in
8 bits, the former as two factors, and step.c makes tables of both.
"""

import _thread
import itertools
import weakref
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from queue import SimpleQueue
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from seqkit.config import ModelConfig
from seqkit.foundation.errors import ConfigError
from seqkit.generation.sampler import Drawing
from seqkit.model.arrays import Network, NetworkArrays
from seqkit.model.state import State, fed_of
from seqkit.symbols import Floats, Integers

if TYPE_CHECKING:
    import wasmtime

_SYMBOLS = 8 << 10  # their place in step.c's buffers, after draws
_RESERVED = 64 << 20  # bytes of addresses, where they are few
_ROOM, _FED = 1024, 128  # symbols that these hold, and of a call of its `feed`
_ALIGNED = 16  # bytes, and hidden units
_ROWS = 16  # of a matrix, side by side
_UNITS = 64  # an activation is a multiple of its inverse
_LAYERS, _BYTES = 64, 1 << 31


def check(config: ModelConfig) -> None:
    """Refuse what the engine cannot run: ConfigError, also if wasmtime does not load."""
    _require_lstm(config)
    _library()


def _library() -> ModuleType:
    try:
        import wasmtime
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"sample.engine=wasm: wasmtime does not load ({error}): install seqkit anew"
        ) from error
    return wasmtime


class WasmEngine:
    """Generates with 8-bit weights and 7-bit activations, one stream after the other."""

    def __init__(
        self, model: Network, size: int, labels: Floats | None = None, *, relaxed: bool = True
    ) -> None:
        """`size` is the codec's V, `labels` the choices of labels: see `pack`.

        Raises ConfigError: step.c cannot run such a network, or wasmtime does not load.
        """
        wasmtime = _library()
        arranged, weights = pack(model, size, labels)
        try:
            self._load(program(relaxed), wasmtime.Config())
        except wasmtime.WasmtimeError:  # no 4 GB of addresses, within which no access is checked
            within = wasmtime.Config()
            within.memory_reservation = _RESERVED
            self._load(program(relaxed), within)
        self._exports["memory"].write(self._store, weights, self._call("arrange", *arranged))
        self._call("fill")
        self._io, self._logits = self._call("buffers"), self._call("logits_at")
        self.block = min(64 * model.config.frame, _ROOM)
        self._size, self._config, self._hidden = size, model.config, int(arranged[1])
        self._state_bytes = self._call("state_size")
        self._begin = self._streams = 0

    def _load(self, code: bytes, config: "wasmtime.Config") -> None:
        """Compile the program, and give it its own memory."""
        wasmtime = _library()
        engine = wasmtime.Engine(config)
        self._store = wasmtime.Store(engine)
        # While wasmtime's own functions are there, which Python's end takes away:
        for resource in (engine, self._store):  # the last one first
            weakref.finalize(self, resource.close)
        self._busy = _thread.allocate_lock()  # while a block is made
        weakref.finalize(self, self._busy.acquire)
        module = wasmtime.Module(engine, code)
        exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self._exports: dict[str, Any] = {name: exports[name] for name in exports}

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        """See Engine. The next block is made on another core while one is made into sound."""
        return _made_ahead(self._blocks(drawing), self._busy)

    def _blocks(self, drawing: Drawing) -> Iterator[Integers]:
        symbols, sampling, places = drawing.symbols, drawing.sampling, self._hold(drawing.state)
        top_p = 1.0 if sampling.top_p is None else sampling.top_p
        self._call("rule", sampling.temperature, min(sampling.top_k or 0, self._size), top_p, 0)
        labels = drawing.labels.tolist()
        for block in drawing.draws:
            drawn = np.zeros(block.shape, np.int64)
            for stream, place in enumerate(places):
                self._write(self._io, block[:, stream].astype("<f8"))
                self._call("run", place, int(symbols[stream]), len(block), labels[stream])
                drawn[:, stream] = self._read(self._io + _SYMBOLS, len(block), "<i4")
            symbols = drawn[-1]
            yield drawn

    def score(self, symbols: Integers, state: State, labels: Integers) -> tuple[Floats, State]:
        """See Engine."""
        places = self._hold(state)
        label_of = labels.tolist()
        logits = np.zeros((*symbols.shape, -(-self._size // 16) * 16), np.float32)
        for begin, stream in itertools.product(range(0, len(symbols), _FED), range(len(places))):
            part = slice(begin, begin + _FED), stream
            self._write(self._io + _SYMBOLS, symbols[part].astype("<i4"))
            self._call("feed", places[stream], len(symbols[part]), label_of[stream])
            values = self._read(self._logits, logits[part].size)
            logits[part] = values.reshape(-1, logits.shape[-1])
        return logits[..., : self._size], self._held(len(places))

    def _hold(self, state: State) -> list[int]:
        """Write the state of S streams to memory: where that of each lies."""
        h, c, frame = (values.swapaxes(0, 1) for values in state.arrays())
        wide = [(0, 0), (0, 0), (0, self._hidden - h.shape[2])]
        rows = [np.pad(part, wide).reshape(len(h), -1) for part in (h, c)]
        places = self._config.frame
        known = np.zeros((len(h), (places + 4) // 4 * 4))
        known[:, 0], known[:, 1 : 1 + frame.shape[2]] = fed_of(state.frame, places), frame[:, 0]
        rows.append(known)
        if len(h) > self._streams:
            self._begin = self._call("reserve", len(h) * self._state_bytes)
            self._streams = len(h)
        self._write(self._begin, np.concatenate(rows, 1).astype("<f4"))
        return [self._begin + stream * self._state_bytes for stream in range(len(h))]

    def _held(self, streams: int) -> State:
        """The state of S streams, read from memory."""
        rows = self._read(self._begin, streams * self._state_bytes // 4).reshape(streams, -1)
        layers, width = self._config.num_layers, self._hidden
        values = rows[:, : 2 * layers * width].reshape(streams, 2, layers, width)
        h, c = values[..., : self._config.hidden_size].transpose(1, 2, 0, 3)
        known = rows[None, :, 2 * layers * width :]
        frame = known[..., 1:][..., : (int(known[0, 0, 0]) - 1) % self._config.frame]
        return State(h.copy(), c.copy(), frame.copy())

    def _call(self, name: str, *arguments: float) -> Any:
        try:
            return self._exports[name](self._store, *arguments)
        except _library().Trap as error:  # step.c stops where memory cannot grow
            raise MemoryError("sample.engine=wasm: its memory cannot grow") from error

    def _write(self, place: int, values: npt.NDArray[Any] | np.generic) -> None:
        self._exports["memory"].write(self._store, values.tobytes(), place)

    def _read(self, place: int, count: int, kind: str = "<f4") -> npt.NDArray[Any]:
        end = place + count * np.dtype(kind).itemsize
        return np.frombuffer(self._exports["memory"].read(self._store, place, end), kind)


def _made_ahead(blocks: Iterator[Integers], busy: _thread.LockType) -> Iterator[Integers]:
    """Hand on blocks, the next of which is made by another thread meanwhile, which is then `busy`.

    Locks written in Python, those of `concurrent.futures` too, stay locked if a Ctrl-C comes as one
    is taken, and both threads wait for ever. A SimpleQueue has none.
    """
    asked, made = SimpleQueue[bool](), SimpleQueue[Integers | BaseException]()

    def make() -> None:
        try:
            while asked.get() and busy.acquire(blocking=False):  # else the program ends
                try:
                    made.put(next(blocks))
                finally:
                    busy.release()
            raise StopIteration
        except BaseException as error:
            made.put(error)

    asked.put(True)
    _thread.start_new_thread(make, ())
    block: Integers | BaseException | None = None
    try:
        while not isinstance(block := made.get(), BaseException):
            asked.put(True)
            yield block
        if not isinstance(block, StopIteration):
            raise block
    finally:
        asked.put(False)
        while not isinstance(block, BaseException):  # the engine is used until then
            block = made.get()


def program(relaxed: bool) -> bytes:
    """The WebAssembly of step.c, with relaxed SIMD or without: see there."""
    name = "step_relaxed.wasm" if relaxed else "step.wasm"
    return (resources.files("seqkit.generation.engines") / name).read_bytes()


def _require_lstm(config: ModelConfig) -> None:
    if config.cell != "lstm":
        raise ConfigError(f"sample.engine=wasm and pages run LSTMs, and this is a {config.cell}")


def pack(model: Network, size: int, labels: Floats | None = None) -> tuple[list[float], bytes]:
    """What step.c's `arrange` takes, the number of layers and H rounded up first; and weights.

    Args:
        model: in fp32, on any device.
        size: the codec's V; logits that the model has beyond it are left out.
        labels: choices of labels (n, R), as `NetworkArrays.with_choices` takes them; by default the
            numbers of the only label, if it has one.

    Raises ConfigError: step.c has no such cell, or not so much room.
    """
    config = model.config
    _require_lstm(config)
    own = NetworkArrays.of(model)
    wide = replace(own, weights={name: part.astype(float) for name, part in own.weights.items()})
    gates = 4 * (config.hidden_size + -config.hidden_size % _ALIGNED)
    rows, width = config.input_rows, config.embedding_size
    factored = config.frame > 1 and config.input == "embedding"
    factored = factored and width * (rows + gates) < 2 * rows * gates  # bytes
    chosen = of_labels = wide.gate_table("labels")
    if labels is not None and of_labels is not None:
        chosen = labels.astype(float) @ of_labels
    if factored:  # the embedding of symbols and what reads it, of which step.c makes a table
        read, reader = wide.factors("embedding")
        (embedded, of_rows), (readers, of_gates) = (
            _table(part, np.int8) for part in (read, _parted(reader))
        )
        parts = [embedded, readers, of_rows, of_gates]
    else:
        added = wide.gate_table("embedding")
        assert added is not None
        first = int(config.frame == 1)  # a row that is none
        parts = _table(_parted(np.pad(added, ((first, 0), (0, 0))).T).T)
    parts += [] if chosen is None else _table(_parted(chosen.T).T)
    for index in range(config.num_layers):
        w, u, b, d = wide.layer(index)
        joined = [_filled(_parted(part), 1, _ALIGNED) for part in ([w, u] if index else [u])]
        parts += _matrix(np.concatenate(joined, 1), _parted(b + d), 1 / _UNITS)
    parts += _heads(wide, size)
    content = b"".join(part.tobytes() + bytes(-part.nbytes % _ALIGNED) for part in parts)
    needed = len(content) + 4 * rows * gates * factored  # tables that step.c makes
    if config.num_layers > _LAYERS or needed > _BYTES:
        raise ConfigError(
            f"sample.engine=wasm and pages run up to {_LAYERS} layers and {_BYTES:,} bytes, not "
            f"{config.num_layers} and {needed:,}"
        )
    hidden, z = config.hidden_size, config.head_size
    shape = config.num_layers, hidden + -hidden % _ALIGNED, size, config.vocabulary_size
    rest = int(config.skip_connections), config.frame, z + -z % _ALIGNED
    choices = 0 if chosen is None else len(chosen)
    return [*shape, choices, *rest, width * factored], content


def _heads(model: NetworkArrays, size: int) -> list[np.ndarray]:
    """What makes logits of h: a matrix; or of P places what makes z of h, and a matrix each."""
    config, parts = model.config, list[np.ndarray]()
    unit, least = (config.num_layers if config.skip_connections else 1) / _UNITS, -_UNITS
    if config.frame > 1:
        weight, bias = (_parted(own, config.frame) for own in model.head("frame.hidden"))
        parts += _matrix(_filled(weight, 1, _ALIGNED), bias, unit)
        parts += _table(_filled(model.weights["frame.drawn"], 1, _ALIGNED), np.int8)
        unit, least = 1, 0  # step.c finds the unit of z, which is never below 0
    heads = (np.split(own, config.frame) for own in model.head())
    for weight, bias in zip(*heads, strict=True):
        matrix = _filled(_filled(weight[:size], 1, _ALIGNED), 0, _ROWS)
        parts += _matrix(matrix, _filled(bias[:size], 0, _ROWS), unit, least)
    return parts


def _table(rows: Floats, kind: type[np.signedinteger] = np.int16) -> list[np.ndarray]:
    """Rows (N, C) that are looked up, and their scales."""
    values, scales = _integers(rows, kind)
    return [values, scales.astype("<f4")]


def _matrix(weight: Floats, bias: Floats, unit: float, least: int = -_UNITS) -> list[np.ndarray]:
    """Bias, scales, sums and integers of a matrix (N, C) that activations are multiplied by.

    These are integers, times `unit`. They are made positive by an offset, from `least` on; the
    sums take that out of the products.
    """
    integers, scales = _integers(weight, np.int8)
    blocks = integers.reshape(-1, _ROWS, weight.shape[1] // 4, 4).swapaxes(1, 2)
    sums = least * integers.sum(1, np.int32)
    return [bias.astype("<f4"), (scales * unit).astype("<f4"), sums, blocks]


def _integers(rows: Floats, kind: type[np.signedinteger]) -> tuple[np.ndarray, Floats]:
    """Rows (N, C) as integers, and what those of each row are multiples of, (N,)."""
    most = np.iinfo(kind).max
    scales = np.maximum(np.abs(rows).max(1), np.finfo(np.float32).tiny * most) / most
    return np.round(rows / scales[:, None]).astype(kind), scales


def _parted(rows: Floats, parts: int = 4) -> Floats:
    """Rows (N, …) of so many parts, by default of the gates i f g o, with each part filled up."""
    return np.concatenate([_filled(p, 0, _ALIGNED) for p in np.split(rows, parts)])


def _filled(values: Floats, axis: int, multiple: int) -> Floats:
    """Values with zeros after them, up to a multiple along an axis."""
    missing = -values.shape[axis] % multiple
    sides = [(0, 0)] * values.ndim
    sides[axis] = 0, missing
    return np.pad(values, sides)
