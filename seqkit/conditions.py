"""What a network reads beside the symbols: codes of the sound to come, labels of its document."""

from typing import Any, NamedTuple


class Conditions(NamedTuple):
    """What is known of symbols (T, B) before they are predicted; 0 is nothing in both.

    Tensors where PyTorch computes, and NumPy's arrays where an engine takes them.

    codes: of each symbol, (T, B); None: there are no codes.
    labels: of each symbol's document, (T, B, K), a column for each of K labels: the number of its
        value, from 1 on. None: there are no labels.
    """

    codes: Any = None
    labels: Any = None

    def to(self, device: Any) -> "Conditions":
        """As tensors on a device."""
        import torch

        return Conditions(
            *(None if part is None else torch.as_tensor(part, device=device) for part in self)
        )


NO_CONDITIONS = Conditions()
