"""CUDA graphs: what a function launches, recorded once, replayed and timed; also on two streams."""

import functools
import gc
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class GraphedCall:
    """All that a function launches on a GPU, as one CUDA graph; calling it launches that again.

    A replay reads and writes the very tensors that the function used: what it allocated belongs to
    the graph, and the rest is kept alive with `run`.
    """

    def __init__(self, run: Callable[[], object], device: torch.device, warm: int = 1) -> None:
        """Call `run` a few times, then record it.

        Args:
            run: what to record.
            device: the GPU that it runs on.
            warm: calls before the one that is recorded, for libraries to choose their kernels.

        Raises:
            RuntimeError: something in it cannot be recorded.
        """
        self._run = run
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(device):  # which setting its stream makes the current one
            before, stream = torch.cuda.current_stream(), _recorder(device)
            stream.wait_stream(before)
            with torch.cuda.stream(stream):
                for _ in range(warm):
                    run()
            before.wait_stream(stream)
            gc.collect()  # destroying an older graph during a recording would break the recording
            mode = "thread_local"  # what other threads do does not matter: NCCL's asks for events
            try:
                with torch.cuda.graph(self._graph, stream=stream, capture_error_mode=mode):
                    run()
            finally:
                torch.cuda.set_stream(before)  # PyTorch does not when a recording fails

    def __call__(self) -> None:
        """Replay the graph on the current stream."""
        self._graph.replay()


@functools.cache
def _recorder(device: torch.device) -> torch.cuda.Stream:
    """One stream for all recordings on a GPU, because cuBLAS keeps a workspace for every stream.

    What is recorded on it goes before what is beside it.
    """
    return torch.cuda.Stream(device, priority=-1)  # type: ignore[no-untyped-call]


class SideStream:
    """A second stream of a GPU, for work that nothing waits for for a while.

    It gives way to the recorded one, and a graph can replay both.
    """

    def __init__(self, device: torch.device) -> None:
        self._stream = torch.cuda.Stream(device, priority=0)  # type: ignore[no-untyped-call]
        self._kept: list[Tensor | None] = []
        self._runs = False

    @contextmanager
    def running(self, *used: Tensor | None) -> Iterator[None]:
        """Queue what the block launches beside the current stream, after all that is there so far.

        `used`: the tensors of the current stream that it reads. What it makes may be used after
        `join`.
        """
        self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        self._kept += used  # their memory must not be handed out again before `join`
        self._runs = True
        with torch.cuda.stream(self._stream):
            yield

    def join(self) -> None:
        """Let the current stream wait for all that runs beside it, if anything does."""
        if self._runs:  # a recording must not wait for a stream that is no part of it
            torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)
        self._kept.clear()
        self._runs = False


def milliseconds(call: Callable[[], object], count: int, device: torch.device) -> list[float]:
    """The milliseconds of each of `count` calls; on a GPU they queue up, as in real use."""
    if device.type != "cuda":
        marks = [time.perf_counter()]
        for _ in range(count):
            call()
            marks.append(time.perf_counter())
        return [1000 * (b - a) for a, b in itertools.pairwise(marks)]
    torch.cuda.synchronize(device)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]  # type: ignore[no-untyped-call]
    events[0].record()
    for event in events[1:]:
        call()
        event.record()
    torch.cuda.synchronize(device)
    return [a.elapsed_time(b) for a, b in itertools.pairwise(events)]
