"""Windows fetched ahead of the step that needs them."""

from collections.abc import Callable

import torch
from torch import Tensor

from seqkit.data.lanes import Lanes, Window


class Prefetcher:
    """Copies windows of a corpus on the host to a GPU, on a stream of its own.

    A recorded CUDA graph reads `window`, whose memory stays the same.
    """

    def __init__(self, lanes: Lanes, device: torch.device) -> None:
        self._lanes = lanes
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._free = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self.window = _each(lanes.window(0), lambda values: values.to(device))
        """The one loaded last, always in the same memory."""
        self._stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(self._stream):
            self._next = _each(self.window, torch.empty_like)
        self._fetched: int | None = None

    def load(self, step: int) -> None:
        """Put the window of a step into `window`."""
        if step != self._fetched:
            self.prefetch(step)
        torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)
        for own, fetched in _pairs(self.window, self._next):
            own.copy_(fetched)
        self._free.record()

    def prefetch(self, step: int) -> None:
        """Start to copy the window of a step to the device; this does not wait for the copy."""
        window = self._lanes.window(step)
        self._stream.wait_event(self._free)
        with torch.cuda.stream(self._stream):
            for own, read in _pairs(self._next, window):
                own.copy_(read.pin_memory(), non_blocking=True)
        self._fetched = step


def _each(window: Window, function: Callable[[Tensor], Tensor]) -> Window:
    resets = None if window.resets is None else function(window.resets)
    return Window(function(window.inputs), function(window.targets), function(window.fresh), resets)


def _pairs(one: Window, other: Window) -> list[tuple[Tensor, Tensor]]:
    pairs = zip(vars(one).values(), vars(other).values(), strict=True)
    return [(a, b) for a, b in pairs if a is not None]
