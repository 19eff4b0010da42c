"""What a network reads beside the symbols: codes of the sound to come, labels of its document."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqkit.symbols import Integers, Symbols

Written = Callable[[int, int], Integers]
"""Given a place and a count, the codes of so many new symbols from there on, (count, S); or, if
they are the same for all streams, (count, 1)."""


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


@dataclass(frozen=True)
class StreamConditions:
    """The conditions of S streams, for a network whose one label is a choice of labels.

    choices: the number of each stream's choice, (S,); 0 is no label.
    codes: of the prompt, (N,), if there are any.
    written: those of new symbols, if there are any.
    """

    choices: Integers
    codes: Symbols | None = None
    written: Written | None = None

    def of_prompt(self, begin: int, end: int, choice: int) -> Conditions:
        """Of the prompt's symbols from `begin` to `end`, as one stream with this choice."""
        codes = None
        if self.codes is not None:
            codes = self.codes[begin:end, None].astype(np.int64)
        return Conditions(codes, np.full((end - begin, 1, 1), choice))

    def of_new(self, place: int, count: int) -> Conditions:
        """Of so many new symbols of all streams from a place on."""
        codes = None
        if self.written is not None:
            written = self.written(place, count)
            codes = np.repeat(written, len(self.choices) // written.shape[1], 1)
        return Conditions(codes, np.tile(self.choices, (count, 1))[..., None])
