"""The two kernels of the persistent layer: how they share a layer out, compiled and launched."""

import functools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from seqkit.foundation.errors import DeviceError, GaveUpError
from seqkit.kernels.nvrtc import HOPPER, LSTM_CELL, Kernel, Value

UNITS = 32
"""Hidden units of a block; a cluster has a block for each so many."""
THREADS = 256
"""Of a block."""
TILES = (8, 16, 24, 32)
"""Lanes that a cluster can work on at once."""
WIDEST = 512
"""H, up to which a cluster's registers hold the weights."""

# Microseconds of a step, forward and backward, at 512 units on an H200 (docs/how/kernel.md). Only
# their ratios count.
_STEP = {8: 1.8, 16: 2.5, 24: 3.4, 32: 4.2}
_BARRIERS = 1024  # bytes in front
_STAGES = 4  # steps whose operands are under way

# What an H100 or H200 has at least: groups, and multiprocessors in each. A cluster lies in one.
_GROUPS, _GROUP = 7, 16

_PATIENCE = 1 << 32  # clock cycles that a block waits for another, about 2 s


@dataclass(frozen=True)
class Tiling:
    """How B lanes are shared out.

    Attributes:
        lanes: of a tile.
        tiles: in all; the last one may be partly idle.
        clusters: that are launched; each works on one tile after the other.
    """

    lanes: int
    tiles: int
    clusters: int


def blocks(hidden: int) -> int:
    """Blocks in a cluster."""
    return hidden // UNITS


def tiling(lanes: int, at_once: int) -> Tiling:
    """The tiling of B = `lanes` that takes the least time.

    `at_once`: the clusters that the GPU runs at the same time.
    """

    def shared_out(tile: int) -> Tiling:
        tiles = -(-lanes // tile)
        return Tiling(tile, tiles, min(tiles, at_once))

    def cost(candidate: Tiling) -> float:
        return -(-candidate.tiles // candidate.clusters) * _STEP[candidate.lanes]

    return min(map(shared_out, TILES), key=cost)


def _tile(hidden: int, lanes: int) -> int:
    """The lanes of a tile where no multiprocessor is left over, as nearly always."""
    return tiling(lanes, _GROUPS * (_GROUP // blocks(hidden))).lanes


@functools.cache
def clusters_at_once(device: torch.device, hidden: int, lanes: int) -> int:
    """The clusters that a GPU runs at the same time for layers of this width; 0 if none.

    Each of their blocks has a multiprocessor of its own. The forward kernel is asked, in the tiles
    that B = `lanes` will most probably take, so that hardly ever another one is compiled for it.

    Raises:
        DeviceError: it cannot compile the kernels.
    """
    tile = _tile(hidden, lanes)
    possible = _kernel("forward", device, hidden, tile).clusters_at_once(
        cluster=blocks(hidden), threads=THREADS, shared=_shared("forward", hidden, tile)
    )
    about = torch.cuda.get_device_properties(device)
    return min(possible, about.multi_processor_count // blocks(hidden))


def refusal(device: torch.device, hidden: int, lanes: int) -> str | None:
    """Why a device cannot run B = `lanes` of layers of this width, in words; None if it can."""
    if device.type != "cuda":
        return "needs a GPU of capability 9.0 (Hopper)"
    about = torch.cuda.get_device_properties(device)
    if (has := f"{about.major}.{about.minor}") != "9.0":
        return f"needs a GPU of capability 9.0 (Hopper), and {about.name} has {has}"
    try:
        # A training takes both: they are compiled side by side.
        with ThreadPoolExecutor(1, "", torch.cuda.set_device, (device,)) as pool:
            backward = pool.submit(_kernel, "backward", device, hidden, _tile(hidden, lanes))
            clusters = clusters_at_once(device, hidden, lanes)
            backward.result()
    except DeviceError as error:
        return f"does not start: {error}"
    if not clusters:
        return f"needs clusters of {blocks(hidden)} blocks, and {about.name} runs none here"
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
    files = [Path(__file__).with_name(file) for file in ("common.cu", f"{name}.cu")]
    kernel = Kernel(
        f"lstm_{name}",
        sources=[HOPPER, LSTM_CELL, *files],
        constants={"H": hidden, "LANES": tile, "PATIENCE": _PATIENCE},
        device=device,
        exact=True,
    )
    kernel.reserve(_shared(name, hidden, tile), large_clusters=True)
    return kernel


def _shared(name: str, hidden: int, tile: int) -> int:
    """Bytes of shared memory of a block of `forward.cu` or `backward.cu`."""
    part, operand = 2 * UNITS * tile, 4 * UNITS * 2 * tile
    whole = _BARRIERS + 2 * blocks(hidden) * part
    if name == "forward":
        return whole + 2 * part + _STAGES * (operand + 16 * tile)
    return whole + 2 * operand + _STAGES * (operand + part + (UNITS * 2 + 16) * tile)


def launch(
    name: str, arguments: Mapping[str, Value], device: torch.device, hidden: int, tiling: Tiling
) -> None:
    """Queue one of the kernels, forward or backward, over all T steps of a layer of this width."""
    cluster = blocks(hidden)
    _kernel(name, device, hidden, tiling.lanes).launch(
        arguments,
        blocks=tiling.clusters * cluster,
        threads=THREADS,
        shared=_shared(name, hidden, tiling.lanes),
        cluster=cluster,
    )
