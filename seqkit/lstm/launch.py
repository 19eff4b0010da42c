"""The two kernels of the persistent layer: how they share a layer out, compiled and launched."""

import functools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from seqkit.lstm.nvrtc import Kernel, KernelError, Value

UNITS = 32
"""Hidden units of a block; a group has a block for each so many."""
THREADS = 256
"""Of a block."""
TILES = (8, 16, 24, 32)
"""Lanes that a group can work on at once."""

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
    """What the kernels have to know of a GPU.

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
        groups: of blocks that are launched; each works on one tile after the other.
    """

    lanes: int
    tiles: int
    groups: int


@dataclass(frozen=True)
class LayerKernels:
    """Both kernels, forward and backward, for the layers of one width on one device.

    Attributes:
        device: where the layers are; only a GPU runs the kernels.
        hidden: H, a multiple of 64.
        dtype: of the layers: fp16, and without clusters also bf16.
        grid: whether the groups of blocks are no clusters, but exchange through L2.
        anew: whether a reset is before its step, which then begins with zeros. Else it is after it.
    """

    device: torch.device
    hidden: int
    dtype: torch.dtype
    grid: bool
    anew: bool = False

    @property
    def blocks(self) -> int:
        """Blocks of a group."""
        return self.hidden // UNITS

    def refusal(self, lanes: int) -> str | None:
        """Why the device cannot run B = `lanes` of such layers, in words; None if it can."""
        needs = "needs a GPU of capability " + ("8.0 or newer" if self.grid else "9.0 (Hopper)")
        if self.device.type != "cuda":
            return needs
        if self.dtype == torch.float32:
            return "has 16 bits"
        if self.dtype != torch.float16 and not self.grid:
            return "computes in fp16"
        about = card(self.device)
        major, minor = about.capability
        if about.capability < (8, 0) or not (self.grid or about.capability == (9, 0)):
            return f"{needs}, and {about.name} has {major}.{minor}"
        if (expected := self._expected_tiling(lanes)) is None:
            return (
                f"needs {self.blocks} multiprocessors and {about.name} has "
                f"{about.multiprocessors}, or more shared memory than its {about.shared // 1024} KB"
            )
        try:
            # A training takes both: they are compiled side by side.
            with ThreadPoolExecutor(1, "", torch.cuda.set_device, (self.device,)) as pool:
                backward = pool.submit(self._kernel, "backward", expected.lanes)
                found = self.tiling(lanes)
                self._kernel("forward", expected.lanes)
                backward.result()
        except KernelError as error:
            return f"does not start: {error}"
        if found is None:
            return f"needs clusters of {self.blocks} blocks, and {about.name} runs none here"
        return None

    def tiling(self, lanes: int) -> Tiling | None:
        """How B = `lanes` are shared out in the least time; None where there is no room.

        Raises:
            KernelError: the GPU cannot compile the kernels.
        """
        return _tiling(self, lanes, card(self.device), TILES)

    def _expected_tiling(self, lanes: int) -> Tiling | None:
        """The tiling if no multiprocessor is left over, which is nearly always so."""
        if self.grid:
            return self._cheapest(lanes, card(self.device).multiprocessors // self.blocks)
        return self._cheapest(lanes, _GROUPS * (_GROUP // self.blocks))

    def _cheapest(self, lanes: int, at_once: int) -> Tiling | None:
        """The tiling that takes the least time, if so many groups run at the same time."""
        steps, room = _STEP_GRID if self.grid else _STEP, card(self.device).shared
        fits = [t for t in TILES if max(map(self.shared, ("forward", "backward"), (t, t))) <= room]
        counts = {tile: -(-lanes // tile) for tile in fits}  # tiles in all
        tilings = [Tiling(tile, n, min(n, at_once)) for tile, n in counts.items() if at_once]
        return min(tilings, key=lambda t: -(-t.tiles // t.groups) * steps[t.lanes], default=None)

    def shared(self, name: str, tile: int) -> int:
        """Bytes of shared memory of a block of `forward.cu` or `backward.cu`."""
        part, operand = 2 * UNITS * tile, 4 * UNITS * 2 * tile
        stages = 3 if self.grid else 4  # steps whose operands are under way
        whole = _BARRIERS
        if name == "forward":
            products = self.hidden // 16
            whole += (1 if self.grid else 2) * self.blocks * part
            whole += 2 * part + stages * (operand + 16 * tile)
        else:
            products = 8 * (-(-self.hidden // 256) * 2 if self.grid else -(-self.hidden // 128))
            whole += 2 * (8 // (tile // 8) if self.grid else self.blocks) * part
            whole += 2 * operand + stages * (operand + part + (UNITS * 2 + 16) * tile)
        return whole + max(products - _RESIDENT, 0) * _MORE_WEIGHTS

    def launch(self, name: str, arguments: Mapping[str, Value], tiling: Tiling) -> None:
        """Queue one of the kernels, forward or backward, over all T steps of a layer.

        Raises:
            KernelError: the GPU refuses it.
        """
        exchange = None  # what blocks without clusters exchange values in
        if self.grid:
            slices = self.blocks ** (1 if name == "forward" else 2)
            size = tiling.groups * 2 * slices * 2 * UNITS * tiling.lanes
            exchange = torch.zeros(size, dtype=torch.uint8, device=self.device)
        self._kernel(name, tiling.lanes).launch(
            {**arguments, "tiles": tiling.tiles, "exchange": exchange},
            blocks=tiling.groups * self.blocks,
            threads=THREADS,
            shared=self.shared(name, tiling.lanes),
            cooperative=self.grid,
            cluster=0 if self.grid else self.blocks,
        )

    def _kernel(self, name: str, tile: int) -> Kernel:
        return _compiled(name, tile, self, card(self.device))


@functools.cache
def _tiling(kernels: LayerKernels, lanes: int, about: Card, tiles: Sequence[int]) -> Tiling | None:
    """`LayerKernels.tiling` on the card that the device is, in tiles of these sizes."""
    expected = kernels._expected_tiling(lanes)
    if kernels.grid or expected is None:
        return expected
    return kernels._cheapest(lanes, _clusters_at_once(kernels, expected.lanes))


@functools.cache
def _clusters_at_once(kernels: LayerKernels, tile: int) -> int:
    """The clusters that a GPU runs at the same time; 0 if none.

    Each of their blocks has a multiprocessor of its own. The forward kernel is asked, in the tiles
    that will most probably be taken, so that hardly ever another one is compiled for it.
    """
    possible = kernels._kernel("forward", tile).clusters_at_once(
        cluster=kernels.blocks, threads=THREADS, shared=kernels.shared("forward", tile)
    )
    return min(possible, card(kernels.device).multiprocessors // kernels.blocks)


@functools.cache
def _compiled(name: str, tile: int, kernels: LayerKernels, about: Card) -> Kernel:
    """One of the kernels for tiles of so many lanes, on the card that the device is."""
    constants = {"H": kernels.hidden, "LANES": tile, "PATIENCE": _PATIENCE, "GRID": kernels.grid}
    # Hopper's products of four warps are only there if the code is for no other card.
    constants["WGMMA"] = about.architecture == "sm_90a"
    constants |= {"BF16": kernels.dtype == torch.bfloat16, "ANEW": kernels.anew}
    kernel = Kernel(
        f"lstm_{name}",
        sources=_sources(name),
        constants=constants,
        device=kernels.device,
        architecture=about.architecture,
    )
    kernel.reserve(kernels.shared(name, tile), large_clusters=not kernels.grid)
    return kernel


def _sources(name: str) -> list[Path]:
    return [Path(__file__).with_name(f"{file}.cu") for file in ("cell", "common", name)]
