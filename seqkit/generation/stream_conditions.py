"""The conditions of streams of generation: of a prompt that they share, and of what is new."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from seqkit.conditions import Conditions
from seqkit.symbols import Integers, Symbols

Written = Callable[[int, int], Integers]
"""Given a place and a count, the codes of so many new symbols from there on, (count, S); or, if
they are the same for all streams, (count, 1)."""


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
