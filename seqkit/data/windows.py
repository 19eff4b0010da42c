"""The windows of a training's steps on its device, of symbols there or read ahead on the host."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

from seqkit.data.lanes import Lanes, Window

_SHARE = 4  # a corpus stays on the GPU if it takes less than this fraction of the free memory
_AHEAD = 8
"""Steps that are read ahead: a file that is not in memory may take as long as some of them."""


class Windows:
    """The window of one step after the other, made by tensors only: a CUDA graph can replay it."""

    def __init__(self, lanes: Lanes, device: torch.device, width: int) -> None:
        """The windows of `lanes` have so many lanes from now on, and are made on the device."""
        lanes.widen(width)
        self._lanes = lanes
        self._step = torch.zeros((), dtype=torch.int64, device=device)
        self._shift = torch.zeros((), dtype=torch.int64, device=device)
        self._prefetcher: Prefetcher | None = None
        if device.type == "cuda":
            if lanes.may_move(torch.cuda.mem_get_info(device)[0] / _SHARE):
                lanes.move(device)
            else:
                self._prefetcher = Prefetcher(lanes, device)

    def set_step(self, step: int) -> int:
        """Make `current` that of this step from now on; returns how many targets it has."""
        self._step.fill_(step)
        self._shift.fill_(self._lanes.shift(step))
        if self._prefetcher is not None:
            self._prefetcher.load(step)
        return self._lanes.count(step)

    def current(self) -> Window:
        """The window of the step."""
        symbols = self._prefetcher.symbols if self._prefetcher else None
        return self._lanes.window(self._step, self._shift, symbols)


class Prefetcher:
    """Reads the symbols of the next steps in a thread, and copies them to a device.

    A recorded CUDA graph reads `symbols`, whose memory stays the same. The copy is so small that it
    goes between two steps.
    """

    def __init__(self, lanes: Lanes, device: torch.device) -> None:
        """The windows of `lanes` are made on the device from now on, of `symbols`."""
        self._lanes = lanes
        lanes.make_windows_on(device)
        first = lanes.fetch(0)
        self.symbols = first.to(device)
        """What `Lanes.fetch` read for the step loaded last."""
        self._slots = deque(_Slot(first, device) for _ in range(_AHEAD))
        self._thread = ThreadPoolExecutor(1, "prefetch")
        self._coming: deque[tuple[int, Future[_Slot]]] = deque()

    def load(self, step: int) -> None:
        """Put the symbols of a step into `symbols`, and read on."""
        if not self._coming or self._coming[0][0] != step:
            while self._coming:  # a training that goes on elsewhere
                self._slots.append(self._coming.popleft()[1].result())
            self._read(step)
        slot = self._coming.popleft()[1].result()
        slot.copy_to(self.symbols)
        self._slots.append(slot)
        following = self._coming[-1][0] + 1 if self._coming else step + 1
        while self._slots:
            self._read(following)
            following += 1

    def _read(self, step: int) -> None:
        slot = self._slots.popleft()
        self._coming.append((step, self._thread.submit(slot.take, self._lanes, step)))


class _Slot:
    """Memory on the host from which a GPU copies without the help of the processor."""

    def __init__(self, like: Tensor, device: torch.device) -> None:
        on_gpu = device.type == "cuda"
        self._symbols = torch.empty_like(like, pin_memory=on_gpu)
        self._copied = torch.cuda.Event() if on_gpu else None  # type: ignore[no-untyped-call]

    def take(self, lanes: Lanes, step: int) -> "_Slot":
        """Read the symbols of a step, as soon as those before are copied."""
        if self._copied is not None:
            self._copied.synchronize()
        self._symbols.copy_(lanes.fetch(step))
        return self

    def copy_to(self, symbols: Tensor) -> None:
        symbols.copy_(self._symbols, non_blocking=True)
        if self._copied is not None:
            self._copied.record()
