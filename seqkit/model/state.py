"""What a network carries from one input to the next."""

from typing import NamedTuple

import torch
from torch import Tensor


class State(NamedTuple):
    """The recurrent state: hidden values h and cell values c, each (L, B, H).

    Only the LSTM has cell values; elsewhere c is zeros. `past` (1, B, K) has the last K samples,
    the latest last, of a network that predicts linearly: see `LinearPredictor`. If a step makes P
    symbols, `past` is (1, B, P K), and `frame` (1, B, n) are those fed since the last step, counted
    from 1: see `frames`. It is (1, B, 0) if P is 1.
    """

    h: Tensor
    c: Tensor
    past: Tensor
    frame: Tensor

    def detached(self) -> "State":
        """The same values, through which no gradient flows back."""
        return State(*(values.detach() for values in self))

    def begun_anew(self, fresh: Tensor) -> "State":
        """The same values, and zeros in the lanes in which `fresh` (B,) is true."""
        return State(*(torch.where(fresh[:, None], 0, values) for values in self))
