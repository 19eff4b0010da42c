"""What metrics.jsonl holds, as far as it can be read."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqkit.symbols import Floats

_LONGEST = 1 << 16  # bytes of a line; those of a run have about 200
LARGEST = 1e15
"""Of a step, a count or a duration; steps up to it are exact."""
_HIGHEST = 1e40  # of a loss or a norm, which are computed in fp32; sums of such stay finite
_UNBOUNDED = ("loss", "gradient_norm", "bits_per_symbol")  # of a training that diverges
_RECENT = 0.1  # the share of the values that are averaged
_EVENTS = ("train", "validate")
_TRAIN = ("loss", "symbols", "learning_rate", "gradient_norm", "symbols_per_second")


class Curve(NamedTuple):
    """A quantity by step: steps (N,) in ascending order, and finite values (N,)."""

    steps: Floats
    values: Floats

    @property
    def recent(self) -> float:
        """The mean of the last values: of many a tenth, of few the last one."""
        return float(self.values[-self._width :].mean())

    def around(self, step: float) -> float:
        """The mean of as many values up to a step."""
        end = int(np.searchsorted(self.steps, step, "right"))
        return float(self.values[max(0, end - self._width) : max(end, 1)].mean())

    @property
    def _width(self) -> int:
        return max(1, int(_RECENT * len(self.values)))


@dataclass(frozen=True)
class Metrics:
    """The curves of a run, each possibly empty.

    train: `loss` (nats a symbol), `learning_rate`, `gradient_norm`, `symbols_per_second`.
    validation: the losses that can be compared with the last one: on the same validation part, and
        as much of it.
    share: of the validation part, which the last loss is of.
    times: the seconds until a step, of the steps alone.
    step, seconds: of the last line.
    lines, damaged: how many there are, and how many of them could not be read.
    """

    train: Mapping[str, Curve]
    validation: Curve
    times: Curve
    step: int
    seconds: float
    lines: int
    damaged: int
    share: float = 1.0


_EMPTY = Curve(np.zeros(0), np.zeros(0))
NONE = Metrics(dict.fromkeys(_TRAIN, _EMPTY), _EMPTY, _EMPTY, 0, 0.0, 0, 0)
"""Of a file that cannot be read."""


def read(file: Path) -> Metrics:
    """The curves in a file; none if it is not there. Raises OSError."""
    train: list[dict[str, float]] = []
    validation: list[dict[str, float]] = []
    count, damaged = 0, 0
    for content in _lines(file):
        count += 1
        line = _parsed(content)
        if line is None:
            damaged += 1
        elif line[0] in _EVENTS:
            (train if line[0] == "train" else validation).append(line[1])
    known, times = train + validation, _curve(train + validation, "seconds")
    comparable = [line for line in validation if _judged_by(line) == _judged_by(validation[-1])]
    return Metrics(
        train={name: _curve(train, name) for name in _TRAIN},
        validation=_curve(comparable, "loss"),
        times=times,
        step=max((int(line["step"]) for line in known), default=0),
        seconds=float(times.values.max(initial=0.0)),
        lines=count,
        damaged=damaged,
        share=_share(validation[-1]) if validation else 1.0,
    )


def _judged_by(line: dict[str, float]) -> tuple[float, float | None]:
    """What losses that can be compared have in common.

    That is the step since which they can, before 0.2.0 always 0, and the number of symbols that
    they are the mean over, if that is not all.
    """
    return line.get("since", 0.0), line["scored"] if _share(line) < 1 else None


def _share(line: dict[str, float]) -> float:
    """Of the part that a validation scored; before 0.2.0 none was left out."""
    scored, total = line.get("scored", 0.0), line.get("total", 0.0)
    return scored / total if 0 < scored < total else 1.0


def _lines(file: Path) -> Iterator[bytes]:
    """The lines of a file; one that no run writes comes in pieces."""
    if not file.is_file():
        return
    with file.open("rb") as stream:
        while content := stream.readline(_LONGEST):
            yield content


def _parsed(content: bytes) -> tuple[str, dict[str, float]] | None:
    """The event of a line and its numbers; None if it cannot be what a run wrote."""
    try:
        line: Any = json.loads(content)
        event = line["event"]
        numbers = {
            name: float(value)
            for name, value in line.items()
            if isinstance(value, int | float)
            and abs(value) <= (_HIGHEST if name in _UNBOUNDED else LARGEST)
        }
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
    if event in _EVENTS and not (numbers.get("step", -1) >= 0 and "loss" in numbers):
        return None
    return str(event), numbers


def _curve(lines: list[dict[str, float]], name: str) -> Curve:
    points = [(line["step"], line[name]) for line in lines if name in line]
    table = np.array(points, np.float64).reshape(-1, 2)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Curve(table[:, 0], table[:, 1])
