"""The recurrent cells: as equations, one step after the other, and as cuDNN's fused calls.

Both ways take the same weights and give the same values and gradients. A layer reads inputs x
(T, B, I) and a state of h and c, each (B, H); its weights are w (G·H, I) and u (G·H, H) with the
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
that nothing of what came before reaches what follows, nor any gradient the other way.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""G of every cell."""

_CLOSED = -10_000.0  # the sigmoid of this, and of all that is near it, is zero in any float format
_TILE = 128  # cuDNN's persistent kernels take inputs whose width is a multiple of this


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


def make_layer(cell: str, input_size: int, hidden_size: int) -> nn.RNNBase:
    """A layer of PyTorch's: the owner of one layer's parameters."""
    match cell:
        case "lstm":
            return nn.LSTM(input_size, hidden_size)
        case "gru":
            return nn.GRU(input_size, hidden_size)
        case _:
            return nn.RNN(input_size, hidden_size, nonlinearity=cell.removeprefix("rnn_"))


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
        h, c = _step(cell, wx[t], h @ weights.u.T + weights.d, h, c, cell_clip)
        if resets is not None:
            keep = ~resets[t, :, None]
            h, c = h * keep, c * keep
        y.append(h)
    return Outputs(torch.stack(y), h, c)


def _step(
    cell: str, wx: Tensor, uh: Tensor, h: Tensor, c: Tensor, cell_clip: float
) -> tuple[Tensor, Tensor]:
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
    """All T steps in one call of PyTorch's: cuDNN's on a GPU, oneDNN's or its own on a CPU.

    An LSTM takes separators in the same call, as one more input channel: it is 1 at a separator,
    where it shuts the gates i, f and o, and thereby sets h and c to zero and stops every
    gradient. The other cells have no gates that could do this: their call is cut at separators.
    Inside autocast the call runs in autocast's dtype.
    """
    if resets is not None and cell != "lstm":
        return _in_pieces(cell, weights, x, h, c, resets)
    own = weights
    if resets is not None:
        gates = torch.tensor([_CLOSED, _CLOSED, 0.0, _CLOSED], dtype=x.dtype, device=x.device)
        column = gates.repeat_interleave(weights.u.shape[1])[:, None]
        weights = weights._replace(w=torch.cat([weights.w, column], 1))
        # What else a separator's input holds would only add to gates that are shut.
        x = torch.cat([x, resets[..., None].to(x.dtype)], -1)
    kind = x.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype
    if x.is_cuda and (missing := -x.shape[-1] % _TILE):
        x = F.pad(x, (0, missing))
        weights = weights._replace(w=F.pad(weights.w, (0, missing)))
    as_they_lie = weights.w is own.w and dtype == own.w.dtype
    flat = list(own) if as_they_lie else _flatten(weights, dtype)
    with torch.autocast(kind, enabled=False):
        x, h_in, c_in = x.to(dtype), h[None].to(dtype), c[None].to(dtype)
        settings = (True, 1, 0.0, torch.is_grad_enabled(), False, False)
        match cell:
            case "lstm":
                y, h_out, c_out = torch.lstm(x, (h_in, c_in), flat, *settings)
                return Outputs(y, h_out[0], c_out[0])
            case "gru":
                y, h_out = torch.gru(x, h_in, flat, *settings)
            case "rnn_tanh":
                y, h_out = torch.rnn_tanh(x, h_in, flat, *settings)
            case _:
                y, h_out = torch.rnn_relu(x, h_in, flat, *settings)
    return Outputs(y, h_out[0], c)


def _flatten(weights: Weights, dtype: torch.dtype) -> list[Tensor]:
    """The weights as views of one buffer in the order w u b d, which is cuDNN's own layout.

    Given like this they are used as they lie; else every call would gather them first.
    """
    buffer = torch.cat([part.to(dtype).flatten() for part in weights])
    pieces = torch.split(buffer, [part.numel() for part in weights])
    return [piece.view_as(part) for piece, part in zip(pieces, weights, strict=True)]


def _in_pieces(
    cell: str, weights: Weights, x: Tensor, h: Tensor, c: Tensor, resets: Tensor
) -> Outputs:
    """One fused call up to each step that holds a separator."""
    ends = (resets.any(1).nonzero()[:, 0] + 1).tolist()
    y, begin = [], 0
    for end in sorted({*ends, len(x)}):
        out = fused(cell, weights, x[begin:end], h, c)
        keep = ~resets[end - 1, :, None]
        h, c = out.h * keep, out.c * keep
        y += [out.y[:-1], h[None]]
        begin = end
    return Outputs(torch.cat(y), h, c)
