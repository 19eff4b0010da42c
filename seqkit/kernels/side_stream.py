"""Work on a GPU that runs beside the main stream, because nothing waits for it for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class Beside:
    """A second stream, which gives way to the recorded one; a CUDA graph can replay both."""

    def __init__(self, device: torch.device) -> None:
        self._stream = torch.cuda.Stream(device, priority=0)  # type: ignore[no-untyped-call]
        self._kept: list[Tensor | None] = []

    @contextmanager
    def running(self, *used: Tensor | None) -> Iterator[None]:
        """Queue what the block launches beside the current stream, after all that is there so far.

        `used`: the tensors of the current stream that it reads. What it makes may be used after
        `join`.
        """
        self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        self._kept += used  # their memory must not be handed out again before `join`
        with torch.cuda.stream(self._stream):
            yield

    def join(self) -> None:
        """Let the current stream wait for all that runs beside it."""
        torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)
        self._kept.clear()
