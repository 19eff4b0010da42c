"""How a layer is laid out on a GPU: clusters, tiles of lanes, and bytes."""

from dataclasses import dataclass

UNITS = 32
"""Hidden units of a block; a cluster has a block for each so many."""
THREADS = 256
"""Of a block."""
TILES = (8, 16, 24, 32)
"""Lanes that a cluster can work on at once."""
WIDEST = 512
"""H, up to which a cluster's registers hold the weights."""

# Microseconds that a step takes, forward and backward, at 512 units on an H200 (docs/kernels.md).
# Only their ratios count.
_STEP = {8: 1.8, 16: 2.5, 24: 3.4, 32: 4.2}
_BARRIERS = 1024  # bytes in front
_STAGES = 4  # steps whose operands are under way


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

    def cost(found: Tiling) -> float:
        return -(-found.tiles // found.clusters) * _STEP[found.lanes]

    return min(map(shared_out, TILES), key=cost)


def shared_forward(hidden: int, tile: int) -> int:
    """Bytes of shared memory of a block of `forward.cu`."""
    slice_ = 2 * UNITS * tile
    inputs = (4 * UNITS * 2 + 16) * tile
    return _BARRIERS + 2 * blocks(hidden) * slice_ + 2 * slice_ + _STAGES * inputs


def shared_backward(hidden: int, tile: int) -> int:
    """Bytes of shared memory of a block of `backward.cu`."""
    slice_, operand = 2 * UNITS * tile, 4 * UNITS * 2 * tile
    stage = operand + slice_ + (UNITS * 2 + 16) * tile
    return _BARRIERS + 2 * operand + 2 * blocks(hidden) * slice_ + _STAGES * stage
