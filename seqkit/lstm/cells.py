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

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor, nn

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""G, the number of gates of each cell."""


class LayerWeights(NamedTuple):
    """One layer's weights, tensors or arrays: w for its input, u for its state, biases b and d."""

    w: Any
    u: Any
    b: Any
    d: Any


class Outputs(NamedTuple):
    """A layer's outputs y (T, B, H), and its state h and c (B, H) after the last step."""

    y: "Tensor"
    h: "Tensor"
    c: "Tensor"


def make_layer(cell: str, input_size: int, hidden_size: int) -> "nn.RNNBase":
    """A PyTorch layer, which owns the parameters."""
    from torch import nn

    match cell:
        case "lstm":
            return nn.LSTM(input_size, hidden_size)
        case "gru":
            return nn.GRU(input_size, hidden_size)
        case _:
            return nn.RNN(input_size, hidden_size, nonlinearity=cell.removeprefix("rnn_"))


def weights_of(layer: "nn.Module") -> LayerWeights:
    """The parameters of a layer that `make_layer` made."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    return LayerWeights(*(getattr(layer, name) for name in names))


def unrolled(
    cell: str,
    weights: LayerWeights,
    x: "Tensor",
    h: "Tensor",
    c: "Tensor",
    *,
    resets: "Tensor | None" = None,
) -> Outputs:
    """A layer's equations, step by step, on any device and in any dtype. For shapes see above."""
    from torch import stack

    wx = x @ weights.w.T + weights.b
    y = []
    for t in range(len(x)):
        h, c = cell_step(cell, wx[t], h @ weights.u.T + weights.d, h, c)
        if resets is not None:
            over = resets[t, :, None]
            h, c = h.masked_fill(over, 0), c.masked_fill(over, 0)
        y.append(h)
    return Outputs(stack(y), h, c)


def cell_step(
    cell: str, wx: "Tensor", uh: "Tensor", h: "Tensor", c: "Tensor"
) -> "tuple[Tensor, Tensor]":
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
