"""The two kernels of the persistent layer: compiled once, and launched."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from seqkit.foundation.errors import DeviceError, GaveUpError
from seqkit.kernels.arguments import Value
from seqkit.kernels.nvrtc import HOPPER, Kernel
from seqkit.model.persistent import tiles
from seqkit.model.persistent.tiles import Tiling

_PATIENCE = 1 << 32  # clock cycles that a block waits for another, about 2 s


class Kept(NamedTuple):
    """What the forward pass keeps for the backward pass.

    Attributes:
        tiling: of both passes.
        h: (T + 1, B, H): h before the first step, and after every step.
        gates, cells: of every step, in an order that only the kernels know.
    """

    tiling: Tiling
    h: Tensor
    gates: Tensor
    cells: Tensor


class Gradients(NamedTuple):
    """What the backward pass finds.

    Attributes:
        gates: (T, B, 4H), of what goes into the gates.
        bias: (4H,), of each of the two biases, in fp32.
        h, c: (B, H), of the state before the first step.
    """

    gates: Tensor
    bias: Tensor
    h: Tensor
    c: Tensor


def forward(
    inputs: Tensor,
    symbols: Tensor | None,
    resets: Tensor | None,
    state: tuple[Tensor, Tensor],
    weights: tuple[Tensor, Tensor, Tensor],
    failed: Tensor,
) -> tuple[Tensor, Kept]:
    """All T steps of a layer; everything is fp16 and contiguous.

    Args:
        inputs: w x, (T, B, 4H); or with `symbols` the rows that these select, (V, 4H).
        symbols: (T, B), int64.
        resets: (T, B), bool.
        state: h and c, (B, H).
        weights: u (4H, H), b and d (4H,).
        failed: see `check`.

    Returns:
        c after the last step, (B, H), and what the backward pass needs; h is in it.
    """
    h0, c0 = state
    steps = len(inputs) if symbols is None else len(symbols)
    lanes, hidden = h0.shape
    tiling = tiles.tiling(lanes, clusters_at_once(h0.device, hidden))
    h, cells = h0.new_empty(steps + 1, lanes, hidden), steps * tiling.tiles * tiling.lanes * hidden
    kept = Kept(
        tiling,
        h,
        gates=h0.new_empty(4 * cells),
        cells=h0.new_empty(cells + tiling.tiles * tiling.lanes * hidden),
    )
    c_last = torch.empty_like(h0)
    u, b, d = weights
    arguments: dict[str, Value] = {"inputs": inputs, "symbols": symbols, "resets": resets}
    arguments |= {"u": u, "b": b, "d": d, "h0": h0, "c0": c0}
    arguments |= {"y": h, "c_last": c_last, "gates": kept.gates, "cells": kept.cells}
    arguments |= {"error": failed, "steps": steps, "lanes": lanes, "tiles": tiling.tiles}
    _launch("forward", arguments, h0.device, hidden, tiling)
    return c_last, kept


def backward(
    kept: Kept,
    u: Tensor,
    dy: Tensor,
    dh_last: Tensor | None,
    dc_last: Tensor | None,
    failed: Tensor,
) -> Gradients:
    """All T steps backwards; everything is fp16 and contiguous.

    `dy` (T, B, H), `dh_last` and `dc_last` (B, H) are the gradients of the layer's results.
    `failed`: see `check`.
    """
    steps, lanes, hidden = dy.shape
    dgates = dy.new_empty(steps, lanes, 4 * hidden)
    dh0, dc0 = torch.empty_like(dy[0]), torch.empty_like(dy[0])
    dbias = dy.new_empty(kept.tiling.tiles, 4 * hidden, dtype=torch.float32)
    arguments: dict[str, Value] = {"u": u, "gates": kept.gates, "cells": kept.cells, "dy": dy}
    arguments |= {"dh_last": dh_last, "dc_last": dc_last, "dgates": dgates, "dh0": dh0, "dc0": dc0}
    arguments |= {"dbias": dbias, "error": failed}
    arguments |= {"steps": steps, "lanes": lanes, "tiles": kept.tiling.tiles}
    _launch("backward", arguments, dy.device, hidden, kept.tiling)
    return Gradients(dgates, dbias.sum(0), dh0, dc0)


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


def _launch(
    name: str, arguments: Mapping[str, Value], device: torch.device, hidden: int, tiling: Tiling
) -> None:
    cluster = tiles.blocks(hidden)
    _kernel(name, device, hidden, tiling.lanes).launch(
        arguments,
        blocks=tiling.clusters * cluster,
        threads=tiles.THREADS,
        shared=_shared(name, hidden, tiling.lanes),
        cluster=cluster,
    )
