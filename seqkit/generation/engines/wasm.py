"""The wasm engine: step.c, compiled to WebAssembly, run by wasmtime on one core of any CPU.

The exported page runs the same bytes, so that it makes the same symbols from the same draws.
"""

import itertools
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import wasmtime

from seqkit.generation.engines.wasm_layout import pack, program
from seqkit.generation.sampler import Drawing
from seqkit.model.arrays import Network
from seqkit.model.state import State, fed_of
from seqkit.symbols import Floats, Integers

_SYMBOLS = 8 << 10  # their place in step.c's buffers, after draws
_RESERVED = 64 << 20  # bytes of addresses, where they are few
_ROOM, _FED = 1024, 128  # symbols that these hold, and of a call of its `feed`


class WasmEngine:
    """Generates with 8-bit weights and 7-bit activations, one stream after the other."""

    def __init__(
        self, model: Network, size: int, labels: Floats | None = None, *, relaxed: bool = True
    ) -> None:
        """`size` is the codec's V, `labels` the choices of labels: see `wasm_layout.pack`.

        Raises:
            ConfigError: step.c cannot run such a network.
        """
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

    def _load(self, code: bytes, config: wasmtime.Config) -> None:
        """Compile the program, and give it its own memory."""
        engine = wasmtime.Engine(config)
        self._store = wasmtime.Store(engine)
        # While wasmtime's own functions are there, which Python's end takes away:
        for resource in (engine, self._store):  # the last one first
            weakref.finalize(self, resource.close)
        module = wasmtime.Module(engine, code)
        exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self._exports: dict[str, Any] = {name: exports[name] for name in exports}

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        """See Engine. The next block is made on another core while one is made into sound."""
        blocks = self._blocks(drawing)
        with ThreadPoolExecutor(1) as thread:
            coming = thread.submit(next, blocks, None)
            while (block := coming.result()) is not None:
                coming = thread.submit(next, blocks, None)
                yield block

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
        except wasmtime.Trap as error:  # step.c stops where memory cannot grow
            raise MemoryError("sample.engine=wasm: its memory cannot grow") from error

    def _write(self, place: int, values: npt.NDArray[Any] | np.generic) -> None:
        self._exports["memory"].write(self._store, values.tobytes(), place)

    def _read(self, place: int, count: int, kind: str = "<f4") -> npt.NDArray[Any]:
        end = place + count * np.dtype(kind).itemsize
        return np.frombuffer(self._exports["memory"].read(self._store, place, end), kind)
