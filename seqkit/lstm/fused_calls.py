"""Fused calls: all T steps of a layer, or of a stack, in one call by cuDNN or oneDNN.

They take the weights of `cells.unrolled` and give the same values and gradients. They are fastest
on weights that are packed: see `pack`.

An LSTM handles separators within the call. One more input channel is 1 at a separator, with weights
so negative that the gates i, f and o are shut: that zeroes h and c and stops every gradient. The
other cells have no such gates, so their calls are cut at separators.

oneDNN 3.12 (PyTorch 2.14) differentiates LSTM layers of 1024 units wrongly in bf16 on processors
with AMX: nothing of the gradients of x and h is right. Where that is found, they run in fp32.
"""

import functools
import itertools
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit.lstm.cells import LayerWeights, Outputs

TENSOR_CORE = 8
"""Tensor cores want the sides of a matrix in multiples of this: lanes, hidden units, logits."""

_CUDNN_INPUT = 128  # cuDNN's fastest LSTM kernels want inputs whose width is a multiple of this
_BF16_INPUT = 32  # processors multiply bfloat16 in rows of so many, which is 64 bytes
_SHUT = -10_000.0  # the sigmoid of this and of anything near it is zero in every float format
_WRONG = 0.1  # relative error of a gradient; bf16 itself makes 0.004


def fused_layer(
    cell: str,
    weights: LayerWeights,
    x: Tensor,
    h: Tensor,
    c: Tensor,
    *,
    resets: Tensor | None = None,
) -> Outputs:
    """All T steps of a layer in one call; x is (T, B, X), h and c are (B, H), resets (T, B).

    `weights` that should be packed and are not, are packed here.
    """
    if resets is not None and cell != "lstm":
        return _in_pieces(cell, weights, x, h, c, resets)
    width = packed_width(x.shape[-1], resets is not None, x)
    if weights.w.shape[1] != width:
        weights = pack([weights], resets is not None)[0]
    y, h, c = fused_stack(cell, [weights], _widen(x, width, resets), h[None], c[None])
    return Outputs(y, h[0], c[0])


def fused_stack(
    cell: str, weights: Sequence[LayerWeights], x: Tensor, h: Tensor, c: Tensor
) -> Outputs:
    """All T steps of all layers in one call; here h and c are (L, B, H).

    On a GPU, weights laid out by `pack` are used in place; others are copied at every call.
    """
    x = _widen(x, weights[0].w.shape[1], None)
    flat = [*itertools.chain(*weights)]
    settings = (True, len(weights), 0.0, torch.is_grad_enabled(), False, False)
    if cell != "lstm":  # torch.gru, torch.rnn_tanh, torch.rnn_relu
        y, h = getattr(torch, cell)(x, h, flat, *settings)
        return Outputs(y, h, c)
    suspect = torch.is_grad_enabled() and not x.is_cuda and x.dtype == torch.bfloat16
    if suspect and _is_wrong_in_bf16(h.shape[-1]):
        wide = [LayerWeights(*(part.float() for part in layer)) for layer in weights]
        outputs = fused_stack(cell, wide, x.float(), h.float(), c.float())
        return Outputs(*(values.to(x.dtype) for values in outputs))
    return Outputs(*torch.lstm(x, (h, c), flat, *settings))


@functools.cache
def _is_wrong_in_bf16(hidden: int) -> bool:
    """Whether PyTorch differentiates LSTM layers of `hidden` units wrongly here: see above.

    Their gradients are compared with those in fp32, which takes a few milliseconds.
    """
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, 1, 32), (1, 1, hidden), (1, 1, hidden), (4 * hidden, 32), (4 * hidden, hidden)]
    drawn = [torch.randn(shape, generator=generator) for shape in shapes]
    x, h, c, w, u = (values.bfloat16() / hidden**0.5 for values in drawn)
    bias = torch.zeros(4 * hidden, dtype=torch.bfloat16)
    gradients = []
    with torch.enable_grad():
        for dtype in (torch.float32, torch.bfloat16):
            leaves = [values.to(dtype, copy=True).requires_grad_() for values in (x, h, c)]
            rest = [values.to(dtype) for values in (w, u, bias, bias)]
            y, *_ = torch.lstm(leaves[0], leaves[1:], rest, True, 1, 0.0, True, False, False)
            gradients.append(torch.autograd.grad(y.sum(), leaves[:2]))
    return any(
        bool((wrong.float() - right).norm() > _WRONG * right.norm())
        for right, wrong in zip(*gradients, strict=True)
    )


def packed_width(width: int, separators: bool, like: Tensor) -> int:
    """The columns of a packed w for `width` input channels, and one for separators if need be.

    `like` has the device and the dtype of w.
    """
    width += separators
    if like.is_cuda:
        return width + -width % _CUDNN_INPUT
    return width + (-width % _BF16_INPUT if like.dtype == torch.bfloat16 else 0)


def pack(layers: Sequence[LayerWeights], separators: bool) -> list[LayerWeights]:
    """Lay out the weights of the layers that one call runs as it wants them; differentiable.

    The bottom w is padded to `packed_width`. With `separators` (one LSTM layer) its first added
    column shuts the gates. On a GPU one buffer holds w and u of every layer, then b and d of every
    layer; on a CPU nothing is copied where nothing is padded.
    """
    bottom = layers[0]
    columns = bottom.w.shape[1]
    missing = packed_width(columns, separators, bottom.w) - columns
    if not missing and not bottom.w.is_cuda:
        return list(layers)
    w = F.pad(bottom.w, (0, missing))
    if separators:
        w = w + _shutter(bottom, columns, missing)
    wide = [bottom._replace(w=w), *layers[1:]]
    parts = [part for layer in wide for part in layer[:2]]
    parts += [part for layer in wide for part in layer[2:]]
    buffer = torch.cat([part.flatten() for part in parts])
    pieces = torch.split(buffer, [part.numel() for part in parts])
    views = [piece.view_as(part) for piece, part in zip(pieces, parts, strict=True)]
    count = 2 * len(layers)
    matrices, biases = views[:count], views[count:]
    return [LayerWeights(*matrices[i : i + 2], *biases[i : i + 2]) for i in range(0, count, 2)]


def _shutter(layer: LayerWeights, columns: int, missing: int) -> Tensor:
    """What is added to an LSTM's padded w: one column that shuts the gates i, f and o."""
    rows, hidden = layer.u.shape
    gate = torch.arange(rows, device=layer.u.device) // hidden
    column = torch.where(gate == 2, 0.0, _SHUT).to(layer.u.dtype)
    return F.pad(column[:, None], (columns, missing - 1))


def _widen(x: Tensor, width: int, resets: Tensor | None) -> Tensor:
    """Inputs with the channel for separators, if there are any, and zeros up to `width`."""
    missing = width - x.shape[-1]
    if resets is not None:
        # The rest of a separator's input does not matter: it only adds to gates that stay shut.
        return torch.cat([x, F.pad(resets[..., None].to(x.dtype), (0, missing - 1))], -1)
    return F.pad(x, (0, missing)) if missing else x


def _in_pieces(
    cell: str, weights: LayerWeights, x: Tensor, h: Tensor, c: Tensor, resets: Tensor
) -> Outputs:
    """A fused call up to and including each step at which some lane has a separator."""
    ends = (resets.any(1).nonzero()[:, 0] + 1).tolist()
    y, begin = [], 0
    for end in sorted({*ends, len(x)}):
        out = fused_layer(cell, weights, x[begin:end], h, c)
        over = resets[end - 1, :, None]
        h, c = out.h.masked_fill(over, 0), out.c.masked_fill(over, 0)
        y += [out.y[:-1], h[None]]
        begin = end
    return Outputs(torch.cat(y), h, c)
