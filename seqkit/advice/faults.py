"""What is wrong with data: faults that are told, and what is refused since it is too little."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seqkit.config import TrainConfig
from seqkit.data.corpus import Corpus
from seqkit.foundation.errors import DataError

CONSTANT = "the content is one symbol, again and again: there is nothing to learn from it"


@dataclass(frozen=True)
class Fault:
    """What is wrong and what to do about it, in a line; and the keys that do it, if any.

    They are `init_from`, or those of `data`, without that; `doctor` puts them into its command.
    """

    line: str
    keys: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.line


Rule = tuple[object, str] | tuple[object, str, Mapping[str, Any]]
"""A condition, the line that tells of it, and the keys that mend it, if any do."""


def told(*rules: Rule) -> list[Fault]:
    """The faults of the rules that hold."""
    return [Fault(*rule[1:]) for rule in rules if rule[0]]


def require_enough(
    corpus: Corpus, split: list[float], train: TrainConfig, recipe: str | None
) -> None:
    """Refuse data of which a training would find too little, split so.

    Raises:
        DataError: with the least that it needs, and how much there is.
    """
    needed = -(-2 * train.sequence_length // (1 + len(corpus.readings)))
    if len(corpus.split(split)[0]) >= needed:
        return
    least, there = math.ceil(needed / split[0]), len(corpus.whole)
    wanted, has = f"{least:,} symbols", f"{there:,} symbols"
    if (codec := corpus.codec).kind == "audio":
        wanted, has = f"{least / codec.symbol_rate:.2g} s", f"{there / codec.symbol_rate:.2g} s"
    named = f"recipe={recipe}" if recipe else "this training"
    raise DataError(
        f"too little data: {has}, and {named} with train.sequence_length="
        f"{train.sequence_length} needs more: give at least {wanted}"
    )
