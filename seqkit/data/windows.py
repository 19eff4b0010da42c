"""The windows of a training's steps on its device, of symbols there or read for each step."""

import torch
from torch import Tensor

from seqkit.data.lanes import Lanes, Window

_SHARE = 4  # a corpus stays on the GPU if it takes less than this fraction of the free memory


class Windows:
    """The window of one step after the other, made by tensors only: a CUDA graph can replay it."""

    def __init__(self, lanes: Lanes, device: torch.device, width: int) -> None:
        """The windows of `lanes` have so many lanes from now on, and are made on the device."""
        lanes.widen(width)
        self._lanes = lanes
        self._step = torch.zeros((), dtype=torch.int64, device=device)
        self._shift = torch.zeros((), dtype=torch.int64, device=device)
        self._read: Tensor | None = None  # for the step, of a corpus that stays on the host
        if device.type == "cuda":
            if lanes.may_move(torch.cuda.mem_get_info(device)[0] / _SHARE):
                lanes.move(device)
            else:
                lanes.make_windows_on(device)
                self._read = lanes.fetch(0).to(device)

    def set_step(self, step: int) -> int:
        """Make `current` that of this step from now on; returns how many targets it has."""
        self._step.fill_(step)
        self._shift.fill_(self._lanes.shift(step))
        if self._read is not None:
            # The host goes on at once; PyTorch keeps the pinned memory until this is copied.
            self._read.copy_(self._lanes.fetch(step).pin_memory(), non_blocking=True)
        return self._lanes.count(step)

    def current(self) -> Window:
        """The window of the step."""
        return self._lanes.window(self._step, self._shift, self._read)
