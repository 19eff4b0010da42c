"""The recurrent cells: as equations, one step after the other, and as fused calls (cuDNN's).

Both ways take the same weights and give the same values and gradients. A layer reads inputs x
(T, B, X) and a state of h and c, each (B, H); its weights are w (G·H, X) and u (G·H, H) with the
biases b and d (G·H,), G gates of H rows each, in the order of PyTorch and cuDNN:

    lstm      i f g o    c_t = σ(f) c_{t-1} + σ(i) tanh(g)       h_t = σ(o) tanh(c_t)
    gru       r z n      n_t = tanh(w_n x + b_n + σ(r) (u_n h_{t-1} + d_n))
                         h_t = (1 - σ(z)) n_t + σ(z) h_{t-1}
    rnn_tanh  one        h_t = tanh(w x + b + u h_{t-1} + d)
    rnn_relu  one        h_t = max(0, w x + b + u h_{t-1} + d)

where a gate's letter stands for its rows of w x_t + b + u h_{t-1} + d. (LSTM: Hochreiter and
Schmidhuber, 1997, and Gers et al., 2000; GRU: Cho et al., 2014, with the reset after the product
as in cuDNN; RNN: Elman, 1990.) Cells without a c hand it through.

`resets` (T, B) marks separators: steps whose output is zero and after which the state is zero, so
that nothing of what came before reaches what follows, nor any gradient the other way. An LSTM
takes them in the same fused call, as one more input channel: it is 1 at a separator, where it
shuts the gates i, f and o, and thereby sets h and c to zero and stops every gradient. The other
cells have no gates that could do this: their calls are cut at separators.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""G of every cell."""

_SHUT = -10_000.0  # the sigmoid of this, and of all that is near it, is zero in any float format
_TILE = 128  # cuDNN's fastest kernels want inputs whose width is a multiple of this


class Weights(NamedTuple):
    """One layer's parameters: of its input, of its state, and a bias for each."""

    w: Tensor
    u: Tensor
    b: Tensor
    d: Tensor


class Outputs(NamedTuple):
    """What a layer makes of T steps: y (T, B, H), and the state after the last one, (B, H)."""

    y: Tensor
    h: Tensor
    c: Tensor


def make_layer(
    cell: str, input_size: int, hidden_size: int, num_layers: int = 1, dropout: float = 0.0
) -> nn.RNNBase:
    """A layer of PyTorch's, the owner of one layer's parameters; or a stack of its layers."""
    sizes = (input_size, hidden_size, num_layers)
    match cell:
        case "lstm":
            return nn.LSTM(*sizes, dropout=dropout)
        case "gru":
            return nn.GRU(*sizes, dropout=dropout)
        case _:
            return nn.RNN(*sizes, nonlinearity=cell.removeprefix("rnn_"), dropout=dropout)


def weights_of(layer: nn.Module) -> Weights:
    """The parameters of a layer that `make_layer` made."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    return Weights(*(getattr(layer, name) for name in names))


def unrolled(
    cell: str,
    weights: Weights,
    x: Tensor,
    h: Tensor,
    c: Tensor,
    resets: Tensor | None = None,
    cell_clip: float = 0.0,
) -> Outputs:
    """The equations, step by step, on any device in any dtype.

    `cell_clip` above 0 keeps the LSTM's c in ±cell_clip.
    """
    wx = x @ weights.w.T + weights.b
    y = []
    for t in range(len(x)):
        h, c = step(cell, wx[t], h @ weights.u.T + weights.d, h, c, cell_clip)
        if resets is not None:
            over = resets[t, :, None]
            h, c = h.masked_fill(over, 0), c.masked_fill(over, 0)
        y.append(h)
    return Outputs(torch.stack(y), h, c)


def step(
    cell: str, wx: Tensor, uh: Tensor, h: Tensor, c: Tensor, cell_clip: float
) -> tuple[Tensor, Tensor]:
    """One step: h and c (B, H) from wx = w x_t + b and uh = u h_{t-1} + d, and from h and c."""
    match cell:
        case "lstm":
            i, f, g, o = (wx + uh).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            if cell_clip:
                c = c.clamp(-cell_clip, cell_clip)
            return o.sigmoid() * c.tanh(), c
        case "gru":
            (wr, wz, wn), (ur, uz, un) = wx.chunk(3, -1), uh.chunk(3, -1)
            r, z = (wr + ur).sigmoid(), (wz + uz).sigmoid()
            n = (wn + r * un).tanh()
            return (1 - z) * n + z * h, c
        case "rnn_tanh":
            return (wx + uh).tanh(), c
        case _:
            return (wx + uh).relu(), c


def fused(
    cell: str, weights: Weights, x: Tensor, h: Tensor, c: Tensor, resets: Tensor | None = None
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


def fused_stack(cell: str, weights: Sequence[Weights], x: Tensor, h: Tensor, c: Tensor) -> Outputs:
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
    return width + -width % _TILE if device.type == "cuda" else width


def pack(layers: Sequence[Weights], cell: str, separators: bool) -> list[Weights]:
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
    return [Weights(*matrices[i : i + 2], *biases[i : i + 2]) for i in range(0, count, 2)]


def _shutter(layer: Weights, columns: int, missing: int) -> Tensor:
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
    cell: str, weights: Weights, x: Tensor, h: Tensor, c: Tensor, resets: Tensor
) -> Outputs:
    """One fused call up to each step that holds a separator."""
    ends = (resets.any(1).nonzero()[:, 0] + 1).tolist()
    y, begin = [], 0
    for end in sorted({*ends, len(x)}):
        out = fused(cell, weights, x[begin:end], h, c)
        over = resets[end - 1, :, None]
        h, c = out.h.masked_fill(over, 0), out.c.masked_fill(over, 0)
        y += [out.y[:-1], h[None]]
        begin = end
    return Outputs(torch.cat(y), h, c)
