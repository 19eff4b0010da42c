"""The persistent layer as a function that PyTorch differentiates."""

import contextlib
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from seqkit.lstm.cells import LayerWeights, Outputs
from seqkit.lstm.fused_calls import TENSOR_CORE
from seqkit.lstm.graph import SideStream
from seqkit.lstm.launch import LayerKernels
from seqkit.lstm.nvrtc import KernelError, Value


@dataclass(frozen=True)
class Setting:
    """What a persistent layer has around it.

    Attributes:
        grid: blocks exchange values through L2 and are no clusters.
        failed: (1,), int32; not zero once the blocks have waited for each other in vain.
        resets: (T, B), true where the output and the state after the step are zero.
        side_stream: where the gradients of w and u are made; they may be used once that is joined.
    """

    grid: bool
    failed: Tensor
    resets: Tensor | None = None
    side_stream: SideStream | None = None


def persistent_layer(
    weights: LayerWeights, x: Tensor, h: Tensor, c: Tensor, setting: Setting
) -> Outputs:
    """All T steps of an LSTM layer, in fp16; without clusters also in bf16.

    Args:
        weights: of the layer; w may have more columns than there are inputs.
        x: inputs (T, B, X); or symbols (T, B), int64, whose one-hot rows are the inputs.
        h, c: the state before the first step, (B, H).
        setting: all else.

    Raises:
        KernelError: the GPU refuses the kernels, or does not hold the weights.
    """
    if x.is_floating_point() and (missing := weights.w.shape[1] - x.shape[-1]):
        x = F.pad(x, (0, missing))
    return Outputs(*_Layer.apply(setting, x, h, c, *weights))


class _Layer(torch.autograd.Function):
    """Everything but the recurrence itself is one product over all T * B places."""

    @staticmethod
    def forward(
        ctx: Any, setting: Setting, x: Tensor, h: Tensor, c: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        w, u, b, d = weights
        symbols = None if x.is_floating_point() else x.contiguous()
        # A row of w.T is what a symbol adds to the gates: no product is needed.
        inputs = F.linear(x, w) if symbols is None else w.T.contiguous()
        resets = None if setting.resets is None else setting.resets.contiguous()
        h0, c0 = h.contiguous(), c.contiguous()
        steps, (lanes, hidden) = len(x), h0.shape
        kernels = LayerKernels(h0.device, hidden, h0.dtype, setting.grid)
        if (tiling := kernels.tiling(lanes)) is None:
            raise KernelError(f"the GPU does not hold the weights of {hidden} units")
        places = tiling.tiles * tiling.lanes * hidden
        y, c_last = h0.new_empty(steps + 1, lanes, hidden), torch.empty_like(h0)
        # In an order that only the kernels know.
        gates, cells = h0.new_empty(4 * steps * places), h0.new_empty((steps + 1) * places)
        arguments: dict[str, Value] = {"inputs": inputs, "symbols": symbols, "resets": resets}
        arguments |= {"u": u, "b": b, "d": d, "h0": h0, "c0": c0}
        arguments |= {"y": y, "c_last": c_last, "gates": gates, "cells": cells}
        arguments |= {"error": setting.failed, "steps": steps, "lanes": lanes}
        kernels.launch("forward", arguments, tiling)
        ctx.save_for_backward(x, w, u, y, gates, cells)
        ctx.kernels, ctx.tiling, ctx.setting = kernels, tiling, setting
        ctx.set_materialize_grads(False)
        # Copied, because a state that is carried on must not keep the outputs of all steps alive.
        return y[1:], y[-1].clone(), c_last

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, dy: Tensor | None, dh: Tensor | None, dc: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        x, w, u, y, gates, cells = ctx.saved_tensors
        dy = torch.zeros_like(y[1:]) if dy is None else dy.contiguous()
        dh_last, dc_last = (None if value is None else value.contiguous() for value in (dh, dc))
        steps, lanes, hidden = dy.shape
        dgates = dy.new_empty(steps, lanes, 4 * hidden)
        dh0, dc0 = torch.empty_like(dy[0]), torch.empty_like(dy[0])
        dbias = dy.new_empty(ctx.tiling.tiles, 4 * hidden, dtype=torch.float32)
        arguments: dict[str, Value] = {"u": u, "gates": gates, "cells": cells, "dy": dy}
        arguments |= {"dh_last": dh_last, "dc_last": dc_last, "dgates": dgates}
        arguments |= {"dh0": dh0, "dc0": dc0, "dbias": dbias}
        arguments |= {"error": ctx.setting.failed, "steps": steps, "lanes": lanes}
        ctx.kernels.launch("backward", arguments, ctx.tiling)
        dx = dgates @ w if ctx.needs_input_grad[1] else None
        bias = dbias.sum(0).to(w.dtype)
        stream = ctx.setting.side_stream
        with contextlib.nullcontext() if stream is None else stream.running(dgates, y, x):
            dw, du = _weight_gradients(dgates, x, y[:-1], w.shape[1])
        return None, dx, dh0, dc0, dw, du, bias, bias


def _weight_gradients(
    gates: Tensor, x: Tensor, before: Tensor, width: int
) -> tuple[Tensor, Tensor]:
    """Of w (4H, `width`) and u (4H, H), from the gates' gradients and h before every step."""
    flat = gates.flatten(0, 1)
    if x.is_floating_point():
        rows = x.flatten(0, 1)
    else:  # as in RunnableWeights: a product has a faster gradient than a look-up, without atomics
        rows = torch.zeros((x.numel(), width), dtype=gates.dtype, device=gates.device)
        rows.scatter_(1, x.reshape(-1, 1), 1)
    return _summed(flat, rows), _summed(flat, before.flatten(0, 1))


def _summed(gates: Tensor, values: Tensor) -> Tensor:
    """The product gatesᵀ values (4H, X), a sum over all T B rows.

    cuBLAS 13.1 has been seen to leave out the last few of 19,971 rows. It does not where the rows
    are a multiple of 8, which those of a training are.
    """
    if missing := -len(gates) % TENSOR_CORE:
        gates, values = (F.pad(rows, (0, 0, 0, missing)) for rows in (gates, values))
    return gates.T @ values
