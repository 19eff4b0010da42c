"""What single cells hold while a network reads.

Of an LSTM that is tanh(c), of the other cells, which have no c, it is h. A fused call gives every
h, but only the last c. So tanh(c) is found from

    h_t = sigmoid(o_t) * tanh(c_t)

where the output gate o_t takes a product with a quarter of the layer's weights, or with one row of
them for a single cell.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit.model.network import Network, Trace

_SMALLEST = 1e-30  # a gate that is shut further than that lets no float through


def quantity(cell: str) -> str:
    """What the activations of a kind of cell are."""
    return "tanh(c)" if cell == "lstm" else "h"


def activations(network: Network, trace: Trace, layer: int, cells: slice) -> Tensor:
    """The activations (T, B, n) of some cells of a layer, n of its H, after each input."""
    y = trace.outputs[layer]
    if network.config.cell != "lstm":
        return y[..., cells]
    weights = network.layers[layer]
    x = trace.outputs[layer - 1] if layer else network.inputs(trace.inputs)
    x = F.pad(x, (0, weights.w.shape[1] - x.shape[-1]))
    last = torch.cat([trace.before.h[layer][None].to(y.dtype), y[:-1]])
    first, end, _ = cells.indices(y.shape[-1])
    rows = slice(3 * y.shape[-1] + first, 3 * y.shape[-1] + end)  # of i, f, g, o
    w, u, b, d = (part[rows] for part in weights)
    gate = (x @ w.T + b + last @ u.T + d).sigmoid()
    return (y[..., cells] / gate.clamp(min=_SMALLEST)).clamp(-1, 1)
