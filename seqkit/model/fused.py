"""Fused calls: all T steps of a layer, or of a stack, in one call of PyTorch's."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit.model.cells import LayerWeights, Outputs
from seqkit.model.padding import CUDNN_INPUT, round_up

_SHUT = -10_000.0  # the sigmoid of this, and of all that is near it, is zero in any float format


def fused_layer(
    cell: str, weights: LayerWeights, x: Tensor, h: Tensor, c: Tensor, resets: Tensor | None = None
) -> Outputs:
    """All T steps of a layer in one call of PyTorch's: cuDNN's on a GPU, oneDNN's on a CPU.

    `weights` may be packed (see `pack`); if they are not and have to be, it is done here.
    """
    if resets is not None and cell != "lstm":
        return _in_pieces(cell, weights, x, h, c, resets)
    width = packed_width(x.shape[-1], resets is not None, x.device)
    if weights.w.shape[1] != width:
        weights = pack([weights], cell, resets is not None)[0]
    y, h, c = fused_stack(cell, [weights], _widen(x, width, resets), h[None], c[None])
    return Outputs(y, h[0], c[0])


def fused_stack(
    cell: str, weights: Sequence[LayerWeights], x: Tensor, h: Tensor, c: Tensor
) -> Outputs:
    """All T steps of all layers in one call; the state's h and c are (L, B, H) here.

    On a GPU the weights are used as they lie if they lie as `pack` puts them.
    """
    x = _widen(x, weights[0].w.shape[1], None)
    flat = [part for layer in weights for part in layer]
    settings = (True, len(weights), 0.0, torch.is_grad_enabled(), False, False)
    match cell:
        case "lstm":
            return Outputs(*torch.lstm(x, (h, c), flat, *settings))
        case "gru":
            y, h = torch.gru(x, h, flat, *settings)
        case "rnn_tanh":
            y, h = torch.rnn_tanh(x, h, flat, *settings)
        case _:
            y, h = torch.rnn_relu(x, h, flat, *settings)
    return Outputs(y, h, c)


def packed_width(width: int, separators: bool, device: torch.device) -> int:
    """The columns of a packed w, for X input channels, with or without that of separators."""
    width += separators
    return round_up(width, CUDNN_INPUT) if device.type == "cuda" else width


def pack(layers: Sequence[LayerWeights], cell: str, separators: bool) -> list[LayerWeights]:
    """The weights of layers that one call runs, in one buffer and as wide as its input is to be.

    The buffer holds w and u of every layer, then b and d of every layer: cuDNN's own layout.
    With `separators` (one LSTM layer) the first added column of w is the channel that shuts the
    gates. The result can be differentiated.
    """
    bottom = layers[0]
    columns = bottom.w.shape[1]
    missing = packed_width(columns, separators, bottom.w.device) - columns
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
    """What the separators' channel adds to a w of an LSTM: the gates i, f and o are shut by it."""
    rows, hidden = layer.u.shape
    gate = torch.arange(rows, device=layer.u.device) // hidden
    column = torch.where(gate == 2, 0.0, _SHUT).to(layer.u.dtype)
    return F.pad(column[:, None], (columns, missing - 1))


def _widen(x: Tensor, width: int, resets: Tensor | None) -> Tensor:
    """Inputs with the separators' channel, and zeros up to `width` columns."""
    if resets is not None:
        # What else a separator's input holds would only add to gates that are shut.
        x = torch.cat([x, resets[..., None].to(x.dtype)], -1)
    missing = width - x.shape[-1]
    return F.pad(x, (0, missing)) if missing else x


def _in_pieces(
    cell: str, weights: LayerWeights, x: Tensor, h: Tensor, c: Tensor, resets: Tensor
) -> Outputs:
    """One fused call up to each step that holds a separator."""
    ends = (resets.any(1).nonzero()[:, 0] + 1).tolist()
    y, begin = [], 0
    for end in sorted({*ends, len(x)}):
        out = fused_layer(cell, weights, x[begin:end], h, c)
        over = resets[end - 1, :, None]
        h, c = out.h.masked_fill(over, 0), out.c.masked_fill(over, 0)
        y += [out.y[:-1], h[None]]
        begin = end
    return Outputs(torch.cat(y), h, c)
