"""A stack of layers as it runs: by cuDNN or oneDNN, by kernels of our own, or by the equations."""

import contextlib
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from seqkit.lstm.cells import LayerWeights, Outputs, unrolled
from seqkit.lstm.fused_calls import TENSOR_CORE, fused_layer, fused_stack, pack
from seqkit.lstm.graph import SideStream
from seqkit.lstm.launch import LayerKernels
from seqkit.lstm.nvrtc import KernelError, Value

PERSISTENT = {"persistent": 512, "grid": 1024}
"""Kernels of our own, in clusters and without (docs/how/kernel.md), and the widest H of each: up to
there registers hold the weights; without clusters some of them are in shared memory."""


def make_layers(cell: str, input_size: int, hidden_size: int, num_layers: int) -> nn.ModuleList:
    """PyTorch's layers, one by one, which own the parameters."""
    rnn = functools.partial(nn.RNN, nonlinearity=cell.removeprefix("rnn_"))
    kind = {"lstm": nn.LSTM, "gru": nn.GRU}.get(cell, rnn)
    sizes = [input_size] + [hidden_size] * (num_layers - 1)
    return nn.ModuleList(kind(size, hidden_size) for size in sizes)


@dataclass(frozen=True)
class Layers:
    """The weights of a stack of layers in the dtype and layout in which they run.

    Attributes:
        cell: see `cells`.
        kernel: what runs them, of `Execution`.
        weights: of each layer, from the bottom. A packed tensor may have more columns than its
            parameter; the parameter's come first.
        failed: of a persistent kernel, (1,), int32: not zero once its blocks have waited for each
            other in vain. From then on it computes NaN.
        anew: of a persistent kernel: whether resets are before their steps, which then begin with a
            state of zeros. Else the outputs of these steps are zero, too, and the state after them.
        side_stream: where the gradients of a persistent kernel's matrices are made, beside the
            rest; it has to be joined before they are used.
    """

    cell: str
    kernel: str
    weights: tuple[LayerWeights, ...]
    failed: Tensor | None = None
    anew: bool = False
    side_stream: SideStream | None = None

    @classmethod
    def of(
        cls, modules: Iterable[nn.Module], cell: str, kernel: str, dtype: torch.dtype
    ) -> "Layers":
        """The parameters of `make_layers` in a dtype, not yet packed; differentiable."""
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        parts = ([getattr(module, name).to(dtype) for name in names] for module in modules)
        return cls(cell, kernel, tuple(LayerWeights(*each) for each in parts))

    def packed(self, separators: bool) -> "Layers":
        """The same layers, laid out as the kernel wants them; differentiable.

        `separators`: whether resets will be given.
        """
        layers, failed = list(self.weights), self.failed
        if self.kernel == "stacked":
            layers = pack(layers, False)
        elif self.kernel == "layerwise":
            marked = separators and self.cell == "lstm"
            layers = [pack([layer], marked)[0] for layer in layers]
        elif self.kernel in PERSISTENT:
            w = layers[0].w
            if missing := -w.shape[1] % TENSOR_CORE:
                layers[0] = layers[0]._replace(w=F.pad(w, (0, missing)))
            if failed is None:
                failed = torch.zeros(1, dtype=torch.int32, device=w.device)
        return replace(self, weights=tuple(layers), failed=failed)

    def tensors(self) -> list[Tensor]:
        """All weights, from the bottom, of each layer w, u, b and d."""
        return [part for layer in self.weights for part in layer]

    def with_tensors(self, tensors: Sequence[Tensor]) -> "Layers":
        """The same layers with other weights, given in the order of `tensors()`."""
        starts = range(0, len(tensors), 4)
        return replace(self, weights=tuple(LayerWeights(*tensors[i : i + 4]) for i in starts))

    @property
    def reads_symbols(self) -> bool:
        """Whether the inputs may be symbols in place of their one-hot rows."""
        return self.kernel in PERSISTENT

    def __call__(
        self,
        x: Tensor,
        h: Tensor,
        c: Tensor,
        masks: Tensor | None = None,
        resets: Tensor | None = None,
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        """Run T steps.

        Args:
            x: inputs (T, B, X); or symbols (T, B), int64, if it `reads_symbols`.
            h, c: the state before, (L, B, H), in any dtype.
            masks: (L, B, H), factors of each layer's outputs, the same at all T steps.
            resets: (T, B), true where the outputs and the state after the step are zero: see `anew`

        Returns:
            The outputs (T, B, H) of every layer, of one call for all only the top's; and the state
            after the last step, in the dtype it came in.

        Raises:
            ValueError: one call for all layers is given masks or resets.
            KernelError: the GPU refuses a persistent kernel.
        """
        given, dtype = h.dtype, self.weights[0].w.dtype
        h, c = h.to(dtype), c.to(dtype)
        if not len(x):
            outputs = list(h[:, None][:, :0])
        elif self.kernel == "stacked":
            if masks is not None or resets is not None:
                raise ValueError("one call for all layers takes neither masks nor resets")
            y, h, c = fused_stack(self.cell, self.weights, x, h, c)
            outputs = [y]
        else:
            outputs, last = [], list[tuple[Tensor, Tensor]]()
            for index, weights in enumerate(self.weights):
                out = self.layer(weights, x, h[index], c[index], resets)
                x = out.y if masks is None else out.y * masks[index]
                outputs.append(x)
                last.append((out.h, out.c))
            h, c = map(torch.stack, zip(*last, strict=True))
        return outputs, h.to(given), c.to(given)

    def layer(
        self, weights: LayerWeights, x: Tensor, h: Tensor, c: Tensor, resets: Tensor | None
    ) -> Outputs:
        """Run T steps of one of the layers, whose state is (B, H), as `__call__` does."""
        if self.kernel == "unrolled":
            return unrolled(self.cell, weights, x, h, c, resets=resets)
        if self.failed is None:
            return fused_layer(self.cell, weights, x, h, c, resets=resets)
        if x.is_floating_point() and (missing := weights.w.shape[1] - x.shape[-1]):
            x = F.pad(x, (0, missing))
        return Outputs(*_PersistentLayer.apply(self, resets, x, h, c, *weights))


class _PersistentLayer(torch.autograd.Function):
    """All T steps of an LSTM layer in fp16; without clusters also in bf16.

    Everything but the recurrence itself is one product over all T * B places.
    """

    @staticmethod
    def forward(
        ctx: Any,
        layers: Layers,
        resets: Tensor | None,
        x: Tensor,
        h: Tensor,
        c: Tensor,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        # Cast in here, since autograd would keep a node for each of them.
        w, u, b, d = (part.to(h.dtype) for part in weights)
        symbols = None if x.is_floating_point() else x.contiguous()
        # A row of w.T is what a symbol adds to the gates: no product is needed.
        inputs = F.linear(x, w) if symbols is None else w.T.contiguous()
        resets = None if resets is None else resets.contiguous()
        h0, c0, u = _aligned(h), _aligned(c), _aligned(u)
        steps, (lanes, hidden) = len(x), h0.shape
        grid = layers.kernel == "grid"
        kernels = LayerKernels(h0.device, hidden, h0.dtype, grid, layers.anew)
        if (tiling := kernels.tiling(lanes)) is None:
            raise KernelError(f"the GPU does not hold the weights of {hidden} units")
        places = tiling.tiles * tiling.lanes * hidden
        y, c_last = h0.new_empty(steps + 1, lanes, hidden), torch.empty_like(h0)
        # In an order that only the kernels know.
        gates, cells = h0.new_empty(4 * steps * places), h0.new_empty((steps + 1) * places)
        arguments: dict[str, Value] = {"inputs": inputs, "symbols": symbols, "resets": resets}
        arguments |= {"u": u, "b": b, "d": d, "h0": h0, "c0": c0}
        arguments |= {"y": y, "c_last": c_last, "gates": gates, "cells": cells}
        arguments |= {"error": layers.failed, "steps": steps, "lanes": lanes}
        kernels.launch("forward", arguments, tiling)
        ctx.save_for_backward(x, w, u, y, gates, cells, resets if layers.anew else None)
        ctx.kernels, ctx.tiling, ctx.layers = kernels, tiling, layers
        ctx.set_materialize_grads(False)
        # Copied, because a state that is carried on must not keep the outputs of all steps alive.
        return y[1:], y[-1].clone(), c_last

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, dy: Tensor | None, dh: Tensor | None, dc: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        x, w, u, y, gates, cells, begun = ctx.saved_tensors
        dy = torch.zeros_like(y[1:]) if dy is None else _aligned(dy)
        dh_last, dc_last = (None if value is None else _aligned(value) for value in (dh, dc))
        steps, lanes, hidden = dy.shape
        dgates = dy.new_empty(steps, lanes, 4 * hidden)
        dh0, dc0 = torch.empty_like(dy[0]), torch.empty_like(dy[0])
        dbias = dy.new_empty(ctx.tiling.tiles, 4 * hidden, dtype=torch.float32)
        arguments: dict[str, Value] = {"u": u, "gates": gates, "cells": cells, "dy": dy}
        arguments |= {"dh_last": dh_last, "dc_last": dc_last, "dgates": dgates}
        arguments |= {"dh0": dh0, "dc0": dc0, "dbias": dbias}
        arguments |= {"error": ctx.layers.failed, "steps": steps, "lanes": lanes}
        ctx.kernels.launch("backward", arguments, ctx.tiling)
        dx = dgates @ w if ctx.needs_input_grad[2] else None
        bias = dbias.sum(0).to(w.dtype)
        before = y[:-1] if begun is None else y[:-1].masked_fill(begun[..., None], 0)
        stream = ctx.layers.side_stream
        with contextlib.nullcontext() if stream is None else stream.running(dgates, before, x):
            dw, du = _weight_gradients(dgates, x, before, w.shape[1])
        return None, None, dx, dh0, dc0, dw, du, bias, bias


def _aligned(values: Tensor) -> Tensor:
    """The values in C order at an address that a kernel reads 16 bytes from."""
    values = values.contiguous()
    return values.clone() if values.data_ptr() % 16 else values


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
