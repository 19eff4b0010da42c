"""CUDA graphs: record what a function launches once, replay it as often as needed."""

import functools
import gc
from collections.abc import Callable

import torch


class Recording:
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
        stream, before = _recorder(device), torch.cuda.current_stream(device)
        stream.wait_stream(before)
        with torch.cuda.stream(stream):
            for _ in range(warm):
                run()
        before.wait_stream(stream)
        gc.collect()  # destroying an older graph during a recording would break the recording
        try:
            # What other threads do meanwhile does not matter: NCCL's asks how far it has come.
            with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
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
