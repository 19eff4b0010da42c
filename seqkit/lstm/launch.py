"""The two kernels of the persistent layer: how they share a layer out, compiled and launched."""

import functools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from seqkit.foundation.errors import DeviceError, GaveUpError
from seqkit.lstm.nvrtc import Kernel, Value

UNITS = 32
"""Hidden units of a block; a group has a block for each so many."""
THREADS = 256
"""Of a block."""
TILES = (8, 16, 24, 32)
"""Lanes that a group can work on at once."""
WIDEST = 512
"""H, up to which a cluster's registers hold the weights."""
WIDEST_GRID = 1024
"""H, up to which blocks without clusters hold the weights, some of them in shared memory."""

# Microseconds of a step, forward and backward, at 512 units on an H200 (docs/how/kernel.md). Only
# their ratios count.
_STEP = {8: 1.8, 16: 2.5, 24: 3.4, 32: 4.2}
_STEP_GRID = {8: 2.8, 16: 3.7, 24: 4.5, 32: 5.1}  # without clusters, on an H100
_BARRIERS = 1024  # bytes in front
_RESIDENT, _MORE_WEIGHTS = 32, 4096  # as in common.cu

# What an H100 or H200 has at least: groups, and multiprocessors in each. A cluster lies in one.
_GROUPS, _GROUP = 7, 16

_PATIENCE = 1 << 32  # clock cycles that a block waits for another, about 2 s


@dataclass(frozen=True)
class Card:
    """What the kernel without clusters has to know of a GPU.

    Attributes:
        name: of the GPU.
        capability: major and minor.
        multiprocessors: of which each runs one block.
        shared: bytes of shared memory that a block can have.
        architecture: what to compile for.
    """

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    shared: int
    architecture: str

    @property
    def has_wgmma(self) -> bool:
        """Whether it has Hopper's products of four warps."""
        return self.architecture == "sm_90a"


@functools.cache
def card(device: torch.device) -> Card:
    """The GPU as it is."""
    about = torch.cuda.get_device_properties(device)
    capability = about.major, about.minor
    architecture = f"sm_{about.major}{about.minor}{'a' if capability == (9, 0) else ''}"
    shared = getattr(about, "shared_memory_per_block_optin", about.shared_memory_per_block)
    return Card(about.name, capability, about.multi_processor_count, shared, architecture)


@dataclass(frozen=True)
class Tiling:
    """How B lanes are shared out.

    Attributes:
        lanes: of a tile.
        tiles: in all; the last one may be partly idle.
        clusters: that are launched; each works on one tile after the other.
        grid: whether they are no clusters, but groups of blocks that exchange through L2.
    """

    lanes: int
    tiles: int
    clusters: int
    grid: bool = False


def blocks(hidden: int) -> int:
    """Blocks in a cluster."""
    return hidden // UNITS


def tiling(lanes: int, at_once: int) -> Tiling:
    """The tiling of B = `lanes` that takes the least time.

    `at_once`: the clusters that the GPU runs at the same time.
    """
    return _cheapest(lanes, at_once, {tile: _STEP[tile] for tile in TILES}, grid=False)


def grid_tiling(lanes: int, hidden: int, about: Card) -> Tiling | None:
    """The same without clusters; None where the GPU does not hold the layer's weights."""
    at_once = about.multiprocessors // blocks(hidden)
    fits = {
        tile: _STEP_GRID[tile]
        for tile in TILES
        if max(_shared(name, hidden, tile, True) for name in ("forward", "backward"))
        <= about.shared
    }
    return _cheapest(lanes, at_once, fits, grid=True) if at_once and fits else None


def _cheapest(lanes: int, at_once: int, steps: Mapping[int, float], *, grid: bool) -> Tiling:
    def shared_out(tile: int) -> Tiling:
        tiles = -(-lanes // tile)
        return Tiling(tile, tiles, min(tiles, at_once), grid)

    def cost(candidate: Tiling) -> float:
        return -(-candidate.tiles // candidate.clusters) * steps[candidate.lanes]

    return min(map(shared_out, steps), key=cost)


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


def layer_tiling(device: torch.device, hidden: int, lanes: int, *, grid: bool) -> Tiling:
    """How B = `lanes` of a layer of this width are shared out on a GPU.

    Raises:
        DeviceError: it cannot compile the kernels, or does not hold the weights.
    """
    if not grid:
        return tiling(lanes, clusters_at_once(device, hidden, lanes))
    if (found := grid_tiling(lanes, hidden, card(device))) is None:
        raise DeviceError(f"{card(device).name} does not hold the weights of {hidden} units")
    return found


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


def grid_refusal(device: torch.device, hidden: int, lanes: int, dtype: torch.dtype) -> str | None:
    """The same of the kernel without clusters, in a dtype."""
    if device.type != "cuda":
        return "needs a GPU of capability 8.0 or newer"
    about = card(device)
    if about.capability < (8, 0):
        major, minor = about.capability
        return f"needs a GPU of capability 8.0 or newer, and {about.name} has {major}.{minor}"
    if (found := grid_tiling(lanes, hidden, about)) is None:
        return (
            f"needs {blocks(hidden)} multiprocessors and {about.name} has {about.multiprocessors}, "
            f"or more shared memory than its {about.shared // 1024} KB"
        )
    try:
        with ThreadPoolExecutor(1, "", torch.cuda.set_device, (device,)) as pool:
            names = "forward", "backward"
            both = [pool.submit(_grid_kernel, n, device, hidden, found.lanes, dtype) for n in names]
            for kernel in both:
                kernel.result()
    except DeviceError as error:
        return f"does not start: {error}"
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
        raise GaveUpError("the blocks of the persistent LSTM kernel waited for each other in vain")


def _sources(name: str) -> list[Path]:
    files = ("cell", "common", name)
    return [Path(__file__).with_name(f"{file}.cu") for file in files]


@functools.cache
def _kernel(name: str, device: torch.device, hidden: int, tile: int) -> Kernel:
    kernel = Kernel(
        f"lstm_{name}",
        sources=_sources(name),
        constants=_constants(hidden, tile) | {"GRID": 0, "WGMMA": 1, "BF16": 0},
        device=device,
        exact=True,
    )
    kernel.reserve(_shared(name, hidden, tile), large_clusters=True)
    return kernel


def _grid_kernel(
    name: str, device: torch.device, hidden: int, tile: int, dtype: torch.dtype
) -> Kernel:
    return _kernel_for(name, device, hidden, tile, dtype, card(device))


@functools.cache
def _kernel_for(
    name: str, device: torch.device, hidden: int, tile: int, dtype: torch.dtype, about: Card
) -> Kernel:
    choices = {"GRID": 1, "WGMMA": about.has_wgmma, "BF16": dtype == torch.bfloat16}
    kernel = Kernel(
        f"lstm_{name}",
        sources=_sources(name),
        constants=_constants(hidden, tile) | choices,
        device=device,
        architecture=about.architecture,
    )
    kernel.reserve(_shared(name, hidden, tile, True))
    return kernel


def _constants(hidden: int, tile: int) -> dict[str, int]:
    return {"H": hidden, "LANES": tile, "PATIENCE": _PATIENCE}


def _shared(name: str, hidden: int, tile: int, grid: bool = False) -> int:
    """Bytes of shared memory of a block of `forward.cu` or `backward.cu`."""
    part, operand = 2 * UNITS * tile, 4 * UNITS * 2 * tile
    stages = 3 if grid else 4  # steps whose operands are under way
    whole = _BARRIERS
    if name == "forward":
        products = hidden // 16
        whole += (1 if grid else 2) * blocks(hidden) * part
        whole += 2 * part + stages * (operand + 16 * tile)
    else:
        products = 8 * (-(-hidden // 256) * 2 if grid else -(-hidden // 128))
        whole += 2 * (8 // (tile // 8) if grid else blocks(hidden)) * part
        whole += 2 * operand + stages * (operand + part + (UNITS * 2 + 16) * tile)
    return whole + max(products - _RESIDENT, 0) * _MORE_WEIGHTS


def exchange_buffer(name: str, like: Tensor, hidden: int, tiling: Tiling) -> Tensor | None:
    """What blocks without clusters exchange values in, on the device of `like`; else None."""
    if not tiling.grid:
        return None
    slices = blocks(hidden) ** (1 if name == "forward" else 2)
    size = tiling.clusters * 2 * slices * 2 * UNITS * tiling.lanes
    return torch.zeros(size, dtype=torch.uint8, device=like.device)


def launch(name: str, arguments: Mapping[str, Value], like: Tensor, tiling: Tiling) -> None:
    """Queue one of the kernels, forward or backward, over all T steps of a layer.

    `like` (B, H) has the layer's width, its device and its dtype.
    """
    device, hidden, group = like.device, like.shape[-1], blocks(like.shape[-1])
    if tiling.grid:
        kernel = _grid_kernel(name, device, hidden, tiling.lanes, like.dtype)
    else:
        kernel = _kernel(name, device, hidden, tiling.lanes)
    kernel.launch(
        {**arguments, "exchange": exchange_buffer(name, like, hidden, tiling)},
        blocks=tiling.clusters * group,
        threads=THREADS,
        shared=_shared(name, hidden, tiling.lanes, tiling.grid),
        cooperative=tiling.grid,
        cluster=0 if tiling.grid else group,
    )
