"""The recurrent cells as equations, computed step by step.

A layer reads inputs x (T, B, X) and a state of h and c, each (B, H). Its weights are w (G·H, X) and
u (G·H, H), its biases b and d (G·H,): G gates of H rows each, in the order of PyTorch and cuDNN:

    lstm      i f g o    c_t = σ(f) c_{t-1} + σ(i) tanh(g)       h_t = σ(o) tanh(c_t)
    gru       r z n      n_t = tanh(w_n x + b_n + σ(r) (u_n h_{t-1} + d_n))
                         h_t = (1 - σ(z)) n_t + σ(z) h_{t-1}
    rnn_tanh  one        h_t = tanh(w x + b + u h_{t-1} + d)
    rnn_relu  one        h_t = max(0, w x + b + u h_{t-1} + d)

where a gate's letter stands for its rows of w x_t + b + u h_{t-1} + d. (LSTM: Hochreiter and
Schmidhuber, 1997, and Gers et al., 2000; GRU: Cho et al., 2014, with the reset after the product
as in cuDNN; RNN: Elman, 1990.) Cells without a c pass it through unchanged.

`resets` (T, B) marks separators between documents. At a separator the output is zero, and so is the
state after it: nothing crosses it, neither values forwards nor gradients backwards.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class LayerWeights(NamedTuple):
    """One layer's weights: w for its input, u for its state, biases b and d."""

    w: Tensor
    u: Tensor
    b: Tensor
    d: Tensor


class Outputs(NamedTuple):
    """A layer's outputs y (T, B, H), and its state h and c (B, H) after the last step."""

    y: Tensor
    h: Tensor
    c: Tensor


def unrolled(
    cell: str,
    weights: LayerWeights,
    x: Tensor,
    h: Tensor,
    c: Tensor,
    *,
    resets: Tensor | None = None,
) -> Outputs:
    """A layer's equations, step by step, on any device and in any dtype. For shapes see above."""
    wx = x @ weights.w.T + weights.b
    y = []
    for t in range(len(x)):
        h, c = cell_step(cell, wx[t], h @ weights.u.T + weights.d, h, c)
        if resets is not None:
            over = resets[t, :, None]
            h, c = h.masked_fill(over, 0), c.masked_fill(over, 0)
        y.append(h)
    return Outputs(torch.stack(y), h, c)


def cell_step(cell: str, wx: Tensor, uh: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The next h and c (B, H), from wx = w x_t + b and uh = u h_{t-1} + d and the last h and c."""
    match cell:
        case "lstm":
            i, f, g, o = (wx + uh).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
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
