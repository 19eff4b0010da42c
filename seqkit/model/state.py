"""What a network carries from one input to the next."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from seqkit.config import ModelConfig


class State(NamedTuple):
    """The recurrent state: hidden values h and cell values c, each (L, B, H).

    Tensors where PyTorch computes, and NumPy's arrays where an engine takes and gives them.

    Only the LSTM has cell values; elsewhere c is zeros. If a step makes P symbols, `frame`
    (1, B, n) are those fed since the last step, counted from 1: see `frames`. It is (1, B, 0) if P
    is 1.
    """

    h: Any
    c: Any
    frame: Any

    def detached(self) -> "State":
        """The same tensors, through which no gradient flows back."""
        return State(*(values.detach() for values in self))

    def begun_anew(self, fresh: Any) -> "State":
        """The same tensors, and zeros in the lanes in which `fresh` (B,) is true."""
        return State(*(values.masked_fill(fresh[:, None], 0) for values in self))

    def on(self, device: Any) -> "State":
        """As tensors on a device."""
        import torch

        # Contiguous, as cuDNN wants them: rows that NumPy picked lie in another order.
        return State(*(torch.as_tensor(part, device=device).contiguous() for part in self))

    def arrays(self) -> "State":
        """As NumPy's arrays, in fp32."""
        return State(*map(_array, self))


def zero_state(
    config: ModelConfig, lanes: int, zeros: Callable[..., Any] = np.zeros, dtype: Any = np.float32
) -> State:
    """The state before the first symbol, made by `zeros` of a shape and a `dtype`, fp32."""
    h, c = (zeros((config.num_layers, lanes, config.hidden_size), dtype=dtype) for _ in "hc")
    return State(h, c, zeros((1, lanes, config.frame - 1), dtype=dtype))


def _array(values: Any) -> Any:
    return values if isinstance(values, np.ndarray) else values.detach().float().cpu().numpy()


def fed_of(frame: Any, places: int) -> int:
    """How many inputs of the step under way were fed, by `State.frame`; 0: the next makes one."""
    return int((frame.shape[2] + 1) % places)
