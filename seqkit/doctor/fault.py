"""Something that is wrong with data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Fault:
    """What is wrong and what to do about it, in a line; and the keys `data.*` that do it, if any.

    `doctor` puts the keys into the command line that it recommends.
    """

    line: str
    keys: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.line
