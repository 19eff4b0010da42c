"""The two kernels of the persistent layer: compiled once, and launched."""

import functools
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from seqkit.foundation.errors import DeviceError, GaveUpError
from seqkit.kernels.arguments import Value
from seqkit.kernels.nvrtc import HOPPER, Kernel
from seqkit.model.persistent import tiles
from seqkit.model.persistent.tiles import Tiling

_PATIENCE = 1 << 32  # clock cycles that a block waits for another, about 2 s


@functools.cache
def clusters_at_once(device: torch.device, hidden: int) -> int:
    """The clusters that a GPU runs at the same time for layers of this width; 0 if none.

    Raises:
        DeviceError: it cannot compile the kernels.
    """
    tile = tiles.TILES[-1]
    return _kernel("backward", device, hidden, tile).clusters_at_once(
        cluster=tiles.blocks(hidden),
        threads=tiles.THREADS,
        shared=tiles.shared_backward(hidden, tile),
    )


def refusal(device: torch.device, hidden: int) -> str | None:
    """Why a device cannot run layers of this width, in words; None if it can."""
    if device.type != "cuda":
        return "needs a GPU of capability 9.0 (Hopper)"
    about = torch.cuda.get_device_properties(device)
    if (about.major, about.minor) != (9, 0):
        return (
            f"needs a GPU of capability 9.0 (Hopper), and {about.name} has "
            f"{about.major}.{about.minor}"
        )
    try:
        found = clusters_at_once(device, hidden)
    except DeviceError as error:
        return f"does not start: {error}"
    if not found:
        return f"needs clusters of {tiles.blocks(hidden)} blocks, and {about.name} runs none here"
    return None


def check(failed: Tensor | None) -> None:
    """Wait for the GPU and see that no block has waited in vain since the last call.

    `failed` (1,), int32, was zero before the first launch that it was given to; it is again.
    None stands for other kernels, which do not give up.

    Raises:
        GaveUpError: one did.
    """
    if failed is not None and failed.item():
        failed.zero_()
        raise GaveUpError(
            "the blocks of the persistent LSTM kernel waited for each other in vain; "
            "train with model.backend=cudnn"
        )


@functools.cache
def _kernel(name: str, device: torch.device, hidden: int, tile: int) -> Kernel:
    own = [Path(__file__).with_name(file) for file in ("common.cu", f"{name}.cu")]
    kernel = Kernel(
        f"lstm_{name}",
        sources=[HOPPER, *own],
        constants={"H": hidden, "LANES": tile, "PATIENCE": _PATIENCE},
        device=device,
        exact=True,
    )
    kernel.reserve(_shared(name, hidden, tile), large_clusters=True)
    return kernel


def _shared(name: str, hidden: int, tile: int) -> int:
    count = tiles.shared_forward if name == "forward" else tiles.shared_backward
    return count(hidden, tile)


def launch(
    name: str, arguments: Mapping[str, Value], device: torch.device, hidden: int, tiling: Tiling
) -> None:
    """Queue one of the kernels, forward or backward, over all T steps of a layer of this width."""
    cluster = tiles.blocks(hidden)
    _kernel(name, device, hidden, tiling.lanes).launch(
        arguments,
        blocks=tiling.clusters * cluster,
        threads=tiles.THREADS,
        shared=_shared(name, hidden, tiling.lanes),
        cluster=cluster,
    )
