"""The cuda_graph engine: many steps, draws included, in one replay of a CUDA graph."""

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seqkit.foundation.device import Device
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.generation.engines.pytorch import Carried, PreparedStep, score_by_network
from seqkit.generation.sampler import Drawing, Sampling
from seqkit.lstm import DTYPES, GraphedCall, Kernel, KernelError
from seqkit.model.char_rnn import CharRNN
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers

_SIZES = (64, 8, 1)  # steps in a graph; a block is cut into these
_MOST_SYMBOLS = 16384


def check(device: Device, size: int) -> None:
    """Refuse what the engine cannot run: DeviceError, ConfigError. `size` is the codec's V."""
    if device.type != "cuda":
        raise DeviceError(
            "sample.engine=cuda_graph needs a GPU: use device=cuda, or another engine"
        )
    if size > _MOST_SYMBOLS:
        raise ConfigError(
            f"sample.engine=cuda_graph takes up to {_MOST_SYMBOLS} symbols, not {size}"
        )


class CudaGraphEngine:
    """Generates with PyTorch's operations, replayed: any cell, any number of streams."""

    block = 256

    @torch.inference_mode()
    def __init__(self, model: CharRNN, size: int, streams: int, precision: str) -> None:
        """`size` is the codec's V, `precision` fp32 or fp16.

        Raises ConfigError, DeviceError: what this engine, or this machine, cannot run.
        """
        device = model.head.weight.device
        check(device, size)
        self._model, self._device = model, device
        self._loop = _Loop(model, size, streams, DTYPES[precision], device)
        self._sampling: Sampling | None = None
        self._graphs: dict[tuple[int, int], GraphedCall] = {}
        self._copies = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        """See Engine. A block's symbols are copied out while the next block runs."""
        return copied_out(self._blocks(drawing), self._copies)

    @torch.inference_mode()
    def _blocks(self, drawing: Drawing) -> Iterator[Tensor]:
        """The symbols (N, S) of each block, queued on the GPU."""
        loop = self._loop
        sampling = dataclasses.replace(drawing.sampling, seed=0)
        if sampling != self._sampling:
            self._sampling = sampling
            self._graphs.clear()  # which draw by another rule
        fed = loop.step.fed(drawing.state)
        loop.set(drawing)
        for block in drawing.draws:
            uniforms = torch.from_numpy(block).pin_memory().to(self._device, non_blocking=True)
            drawn = torch.empty(block.shape, dtype=torch.int64, device=self._device)
            begin = 0
            for size in _SIZES:
                while begin + size <= len(block):
                    loop.draws[:size].copy_(uniforms[begin : begin + size])
                    self._graph(size, sampling, fed)()
                    fed = (fed + size) % loop.step.places
                    drawn[begin : begin + size].copy_(loop.drawn[:size])
                    begin += size
            yield drawn

    def score(self, symbols: Integers, state: State, labels: Integers) -> tuple[Floats, State]:
        """See Engine. In fp32, by the network."""
        return score_by_network(self._model, self._loop.size, symbols, state, labels)

    def _graph(self, steps: int, sampling: Sampling, fed: int) -> GraphedCall:
        """The graph of so many symbols, recorded when it is first needed.

        `fed` is how many inputs of a step came before.
        """
        key = steps, fed
        if key not in self._graphs:
            # What is recorded must not refer to this engine: a graph in a reference cycle might be
            # freed while another one is recorded, which CUDA forbids.
            rule = rule_of(sampling, self._loop.size)
            run = functools.partial(self._loop.advance, steps, rule, fed)
            with self._loop.untouched():
                self._graphs[key] = GraphedCall(run, self._device)
        return self._graphs[key]


class _Loop:
    """Steps on tensors that keep their addresses, as graphs need it."""

    def __init__(
        self, model: CharRNN, size: int, streams: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.step = PreparedStep(model, size, dtype)
        self.size = size
        self.draws = torch.zeros(_SIZES[0], streams, dtype=torch.float64, device=device)
        self.drawn = torch.zeros(_SIZES[0], streams, dtype=torch.int64, device=device)
        self._symbols = torch.zeros(streams, dtype=torch.int64, device=device)
        self._labels = torch.zeros_like(self._symbols)
        self._carried = self.step.split(model.zero_state(streams))
        sources = [Path(__file__).with_name("draw.cu")]
        try:
            self._draw = Kernel(
                "draw_streams", sources=sources, constants={"V": size}, device=device
            )
        except KernelError as error:
            raise DeviceError(str(error)) from error

    def set(self, drawing: Drawing) -> None:
        """Set what the next steps start from."""
        self._symbols.copy_(torch.from_numpy(drawing.symbols))
        self._keep(self.step.split(drawing.state))
        self._labels.copy_(torch.from_numpy(drawing.labels))

    def advance(self, steps: int, rule: dict[str, float], fed: int) -> None:
        """Draw so many symbols: the first rows of `draws` become the first rows of `drawn`."""
        symbols, carried = self._symbols, self._carried
        for index in range(steps):
            place = (fed + index) % self.step.places
            logits, carried = self.step(symbols, carried, self._labels, place)
            symbols = self.drawn[index]
            drawn = {"logits": logits, "draws": self.draws[index], "symbols": symbols}
            self._draw.launch({**drawn, "rule": rule}, blocks=len(symbols), threads=32)
        self._symbols.copy_(symbols)
        self._keep(carried)

    @contextlib.contextmanager
    def untouched(self) -> Iterator[None]:
        """Undo what the steps of the block do to what the next ones start from."""
        symbols, *carried = (values.clone() for values in (self._symbols, *self._carried))
        yield
        self._symbols.copy_(symbols)
        self._keep(carried)

    def _keep(self, carried: Carried) -> None:
        for kept, values in zip(self._carried, carried, strict=True):
            kept.copy_(values)


def rule_of(sampling: Sampling, size: int) -> dict[str, float]:
    """Sampling among `size` symbols: the struct Rule of draw.cu."""
    greedy = sampling.temperature == 0
    return {
        "inverse_temperature": 0.0 if greedy else 1 / sampling.temperature,
        "top_p": 1.0 if sampling.top_p is None else sampling.top_p,
        "top_k": size if sampling.top_k is None else min(sampling.top_k, size),
        "greedy": int(greedy),
    }


@torch.inference_mode()
def copied_out(tensors: Iterable[Tensor], stream: torch.cuda.Stream) -> Iterator[Integers]:
    """The values of each tensor, copied to the host on `stream` while the next one is computed."""
    waiting: list[tuple[Tensor, torch.cuda.Event]] = []
    for tensor in tensors:
        host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        stream.wait_stream(torch.cuda.current_stream(tensor.device))
        with torch.cuda.stream(stream):
            host.copy_(tensor, non_blocking=True)
            tensor.record_stream(stream)
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record()
        waiting.append((host, done))
        if len(waiting) > 1:
            yield _arrived(*waiting.pop(0))
    for copy in waiting:
        yield _arrived(*copy)


def _arrived(host: Tensor, done: torch.cuda.Event) -> Integers:
    done.synchronize()
    return host.numpy().astype(np.int64)
