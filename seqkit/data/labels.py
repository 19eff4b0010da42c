"""Labels: what is known of a whole document, such as who speaks, from its file's name or its row.

A document may have several labels, each with a value or none. They are a row of numbers, one for
each label: that of its value, from 1 on, or 0 for none.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.settings import nearest
from seqkit.foundation.wording import counted
from seqkit.symbols import Integers

_ONE = "label"  # what the only label is called, if it has no name
_SHOWN = 20  # values

Combination = tuple[int, ...]
"""The labels of a document: of each the number of its value, or 0."""


@dataclass(frozen=True)
class Labels:
    """The labels of some documents.

    values: of each of K labels, by its name, the values that it has.
    counts: how many documents have each combination.
    """

    values: dict[str, list[str]]
    counts: dict[Combination, int] = field(default_factory=dict)

    @property
    def sizes(self) -> list[int]:
        """How many values each label has."""
        return [len(own) for own in self.values.values()]

    def combination(self, given: Mapping[str, str]) -> Combination:
        """The numbers of some values, by their labels' names; the other labels have none."""
        return tuple(
            own[given[name]] if name in given else 0 for name, own in self._numbers.items()
        )

    @cached_property
    def _numbers(self) -> dict[str, dict[str, int]]:
        """Of each label the values, which are counted from 1 on."""
        return {
            name: {value: number for number, value in enumerate(own, 1)}
            for name, own in self.values.items()
        }

    def named(self, combination: Combination) -> dict[str, str]:
        """The values of a combination, by their labels' names."""
        pairs = zip(self.values.items(), combination, strict=True)
        return {name: own[number - 1] for (name, own), number in pairs if number}

    def shares(self, combination: Combination) -> dict[str, dict[str, float]]:
        """The same as shares, of which there is one of each label."""
        return {name: {value: 1.0} for name, value in self.named(combination).items()}

    def describe(self, combination: Combination) -> str:
        """As it is asked for: `austen`, or `digit:7,speaker:jackson`; none without labels."""
        return self.words(self.shares(combination))

    def words(self, shares: Mapping[str, Mapping[str, float]]) -> str:
        """As `describe`, of labels with the share of each value, such as `a:0.7,b:0.3`."""
        said = []
        for name, own in ((name, shares[name]) for name in self.values if shares.get(name)):
            one = len(own) == 1
            shown = ",".join(value if one else f"{value}:{share:g}" for value, share in own.items())
            said.append(f"{name}:{shown}" if one and len(self.values) > 1 else shown)
        return ",".join(said) or "none"

    def require(self, found: "Labels | None") -> None:
        """Raise DataError if labels that were found have a value that is not among these."""
        for name, values in found.values.items() if found else ():
            for value in values[len(self.values[name]) :]:
                raise DataError(
                    f"labels: the checkpoint does not know the {name} "
                    f"{value}{nearest(value, self.values[name])} Leave such documents out"
                )

    @property
    def summary(self) -> str:
        """The labels with as many of their values as can be shown."""
        return "; ".join(
            f"{name}: {', '.join(own[:_SHOWN])}{' …' if len(own) > _SHOWN else ''}"
            for name, own in self.values.items()
        )

    def counted(self, labels: Integers) -> "Labels":
        """The same labels, counted in documents that have these, (D, K)."""
        found, places = distinct(labels)
        counts = np.bincount(places, minlength=len(found)).tolist()
        return Labels(self.values, dict(zip(map(tuple, found.tolist()), counts, strict=True)))

    def record(self) -> dict[str, Any]:
        """What a checkpoint keeps, as JSON: there each combination is one number.

        The number of the first label's value counts 1, that of the next label as many as the first
        has numbers, and so on.
        """
        counts = []
        for combination, count in self.counts.items():
            number = 0
            for size, own in zip(reversed(self.sizes), reversed(combination), strict=True):
                number = number * (size + 1) + own
            counts.append([number, count])
        return {"values": self.values, "counts": counts}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Labels":
        """What `record` was made of. Raises KeyError, TypeError or ValueError."""
        labels = cls({str(name): [*map(str, own)] for name, own in record["values"].items()})
        for number, count in record["counts"]:
            rest, combination = int(number), []
            for size in labels.sizes:
                rest, own = divmod(rest, size + 1)
                combination.append(own)
            if rest:
                raise ValueError(f"{number} stands for no combination of labels")
            labels.counts[tuple(combination)] = int(count)
        return labels


def distinct(labels: Integers) -> tuple[Integers, Integers]:
    """The combinations (n, K) among labels (D, K), and the place of each document's, (D,).

    They are in the order of their last label, and of those before it where that is the same.
    """
    order = np.lexsort(labels.T)
    found = labels[order]
    begins = np.ones(len(found), bool)
    begins[1:] = (found[1:] != found[:-1]).any(1)
    places = np.empty(len(found), np.int64)
    places[order] = np.cumsum(begins) - 1
    return found[begins], places


def of_files(
    asked: str, names: Sequence[str], documents: Sequence[int], known: Labels | None = None
) -> tuple[Labels, Integers]:
    """The labels of files, and those of each of their documents, (D, K).

    Args:
        asked: `data.label`: folder, or a regular expression; empty: the names are the labels.
        names: of the files, with / between folders.
        documents: how many each of them has.
        known: labels whose values keep their numbers; new values come after theirs.

    Raises:
        ConfigError: the expression is none, or has no group; or its labels are not the known ones.
        DataError: the name of a file has no label.
    """
    if asked == "folder":
        found = [{_ONE: name.rpartition("/")[0].rpartition("/")[2]} for name in names]
    else:
        found = _by_pattern(asked, names) if asked else [{_ONE: name} for name in names]
    missing = [name for name, own in zip(names, found, strict=True) if not all(own.values())]
    if missing:
        kind, hint = "no label, or an empty one", "change the expression"
        if asked == "folder":
            kind, hint = "no folder within data.path", "give the folder that holds the folders"
        raise DataError(
            f"data.label={asked}: {counted(len(missing), 'file')} of {len(names)} "
            f"{'has' if len(missing) == 1 else 'have'} {kind}, the first is {missing[0]}: {hint}, "
            "or choose files with data.pattern"
        )
    keys = [*found[0]]
    if known is not None and keys != [*known.values]:
        raise ConfigError(
            f"the data have labels called {', '.join(keys)}, and the weights to start from "
            f"know {', '.join(known.values)}: call the groups so"
        )
    values = {key: [] if known is None else [*known.values[key]] for key in keys}
    for key, own in values.items():
        own.extend(sorted({given[key] for given in found} - {*own}))
    labels = Labels(values)
    of_files = np.array([*map(labels.combination, found)], np.int64)
    of_documents = np.repeat(of_files, documents, axis=0)
    return labels.counted(of_documents), of_documents


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
    found = []
    for name in names:
        match = pattern.search(name if "/" in asked else name.rpartition("/")[2])
        given = match.groups("") if match else [""] * len(groups)
        found.append(dict(zip(groups, given, strict=True)))
    return found
