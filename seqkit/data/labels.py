"""Labels: what is known of a whole document, such as who speaks, from its file's name.

A document may have several labels, each with a value or none. They are a row of numbers, one for
each label: that of its value, from 1 on, or 0 for none.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.settings import nearest
from seqkit.foundation.wording import composed, counted
from seqkit.symbols import Integers

_ONE = "label"  # what the only label is called, if it has no name
_SHOWN = 20  # values

Combination = tuple[int, ...]
"""The labels of a document: of each the number of its value, or 0."""


@dataclass(frozen=True)
class Labels:
    """The labels of some documents.

    values: of each of K labels, by its name, the values that it has.
    combinations: those that documents have, each once.
    """

    values: dict[str, list[str]]
    combinations: list[Combination] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        """How many values each label has."""
        return [len(values) for values in self.values.values()]

    def describe(self, combination: Combination) -> str:
        """As it is asked for: `austen`, or `digit:7,speaker:jackson`; none without labels."""
        pairs = zip(self.values.items(), combination, strict=True)
        named = [(name, values[number - 1]) for (name, values), number in pairs if number]
        several = len(self.values) > 1
        return ",".join(f"{name}:{value}" if several else value for name, value in named) or "none"

    @property
    def summary(self) -> str:
        """The labels with as many of their values as can be shown."""
        return "; ".join(
            f"{name}: {', '.join(values[:_SHOWN])}{' …' if len(values) > _SHOWN else ''}"
            for name, values in self.values.items()
        )

    @property
    def untold(self) -> str:
        """What is said where data have no labels, and a network knows these."""
        return f"without data.label it is told no label of these data; it knows {self.summary}"

    def found_in(self, labels: Integers | None) -> "Labels":
        """The same labels, in the combinations of documents that have these, (D, K), if any."""
        found = [] if labels is None else distinct(labels)[0].tolist()
        return Labels(self.values, [*map(tuple, found)])

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Labels":
        """What a checkpoint has of them, as JSON. Raises KeyError, TypeError or ValueError."""
        values = {str(name): [*map(str, own)] for name, own in record["values"].items()}
        labels = cls(values, [tuple(map(int, own)) for own in record.get("combinations", ())])
        for own in labels.combinations:
            pairs = zip(own, labels.sizes, strict=True)
            if not all(0 <= number <= size for number, size in pairs):
                raise ValueError(f"{own} is no combination of the labels")
        return labels


def distinct(labels: Integers) -> tuple[Integers, Integers]:
    """The combinations (n, K) among labels (D, K), and the place of each document's, (D,).

    They are in the order of their last label, and of those before it where that is the same.
    """
    rows, places = np.unique(labels[:, ::-1], axis=0, return_inverse=True)
    return rows[:, ::-1], places.ravel()  # NumPy 2.0.0 keeps a dimension


def of_files(
    asked: str, names: Sequence[str], documents: Sequence[int], known: Labels | None = None
) -> tuple[Labels, Integers]:
    """The labels of files, and those of each of their documents, (D, K).

    Args:
        asked: `data.label`: folder, or a regular expression.
        names: of the files, with / between folders.
        documents: how many each of them has.
        known: of a checkpoint, which has learnt no others.

    Raises:
        ConfigError: the expression is none, or has no group; or its labels are not the known ones.
        DataError: the name of a file has no label, or one that is not known.
    """
    if asked == "folder":
        named = [{_ONE: name.rpartition("/")[0].rpartition("/")[2]} for name in names]
    else:
        named = _by_pattern(asked, names)
    named = [{key: composed(value) for key, value in each.items()} for each in named]
    missing = [name for name, chosen in zip(names, named, strict=True) if not all(chosen.values())]
    if missing:
        kind, hint = "no label, or an empty one", "change the expression"
        if asked == "folder":
            kind, hint = "no folder within data.path", "give the folder that holds the folders"
        raise DataError(
            f"data.label={asked}: {counted(len(missing), 'file')} of {len(names)} "
            f"{'has' if len(missing) == 1 else 'have'} {kind}, the first is {missing[0]}: {hint}, "
            "or choose files with data.pattern"
        )
    keys = [*named[0]]
    if known is not None and keys != [*known.values]:
        raise ConfigError(
            f"the data have labels called {', '.join(keys)}, and the checkpoint knows "
            f"{', '.join(known.values)}: call the groups so"
        )
    values = {key: sorted({each[key] for each in named}) for key in keys}
    if known is not None:
        for key, new in ((key, {*found} - {*known.values[key]}) for key, found in values.items()):
            for value in sorted(new):
                raise DataError(
                    f"labels: the checkpoint does not know the {key} "
                    f"{value}{nearest(value, known.values[key])} It knows {known.summary}: rename "
                    "the folder or the files, or choose others with data.pattern"
                )
        values = known.values
    labels = Labels(values)
    numbers = {key: {value: n for n, value in enumerate(kept, 1)} for key, kept in values.items()}
    of_files = np.array([[numbers[key][each[key]] for key in keys] for each in named], np.int64)
    of_documents = np.repeat(of_files, documents, axis=0)
    return labels.found_in(of_documents), of_documents


def _by_pattern(asked: str, names: Sequence[str]) -> list[dict[str, str]]:
    """What the groups of an expression match in each name; empty if it does not. ConfigError."""
    try:
        pattern = re.compile(asked)
    except re.error as error:
        raise ConfigError(f"data.label={asked}: no regular expression: {error}") from error
    groups = [*pattern.groupindex] or [_ONE]
    if pattern.groups != len(groups):
        raise ConfigError(
            f"data.label={asked}: {counted(pattern.groups, 'group')} in it, of which "
            f"{len(pattern.groupindex)} have names: give one group, as in '^([a-z]+)_', or name "
            "all, as in '(?P<digit>.)_'; or data.label=folder"
        )
    named = []
    for name in names:
        match = pattern.search(name if "/" in asked else name.rpartition("/")[2])
        texts = match.groups("") if match else [""] * len(groups)
        named.append(dict(zip(groups, texts, strict=True)))
    return named
