"""What metrics.jsonl holds, as far as it can be read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqkit.foundation import disk
from seqkit.symbols import Floats

LARGEST = 1e40
"""Of a number that a run can have written: losses are computed in fp32; their sums stay finite."""
_RECENT = 0.1  # the share of the values that are averaged
_TRAIN = ("loss", "symbols", "learning_rate", "gradient_norm", "symbols_per_second")

Line = dict[str, float]


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
    """

    train: Mapping[str, Curve]
    validation: Curve
    share: float
    times: Curve
    step: int
    seconds: float


def read(file: Path, problems: list[str]) -> Metrics:
    """The curves in a file; none if it is not there. What cannot be read is told in `problems`."""
    content = b""
    try:
        content = file.read_bytes() if file.is_file() else b""
    except OSError as error:
        problems.append(f"{file}: cannot be read: {disk.describe(error)}")
    lines = content.splitlines()
    known: dict[str, list[Line]] = {"train": [], "validate": []}
    damaged = 0
    for line in lines:
        try:
            event, numbers = _parsed(line)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            damaged += 1
        else:
            known.get(event, []).append(numbers)  # a later seqkit may know other events
    if damaged:
        problems.append(f"{file}: {damaged} of {len(lines)} lines are damaged and left out")
    train, validation = known["train"], known["validate"]
    times = _curve(train + validation, "seconds")
    comparable = [line for line in validation if _judged_by(line) == _judged_by(validation[-1])]
    return Metrics(
        train={name: _curve(train, name) for name in _TRAIN},
        validation=_curve(comparable, "loss"),
        share=_share(validation[-1]) if validation else 1.0,
        times=times,
        step=int(max((line["step"] for line in train + validation), default=0)),
        seconds=float(times.values.max(initial=0.0)),
    )


def _parsed(content: bytes) -> tuple[str, Line]:
    """The event of a line and its numbers. Raises where no run can have written it."""
    line: Any = json.loads(content)
    numbers = {
        name: float(value)
        for name, value in line.items()
        if isinstance(value, int | float) and abs(value) <= LARGEST
    }
    if line["event"] in ("train", "validate") and (numbers["step"] < 0 or "loss" not in numbers):
        raise ValueError("a step without its loss")
    return str(line["event"]), numbers


def _judged_by(line: Line) -> tuple[float, float | None]:
    """What losses that can be compared have in common.

    That is the step since which they can, before 0.2.0 always 0, and the number of symbols that
    they are the mean over, if that is not all.
    """
    return line.get("since", 0.0), line["scored"] if _share(line) < 1 else None


def _share(line: Line) -> float:
    """Of the part that a validation scored; before 0.2.0 none was left out."""
    scored, total = line.get("scored", 0.0), line.get("total", 0.0)
    return scored / total if 0 < scored < total else 1.0


def _curve(lines: Sequence[Line], name: str) -> Curve:
    points = [(line["step"], line[name]) for line in lines if name in line]
    table = np.array(points, np.float64).reshape(-1, 2)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Curve(table[:, 0], table[:, 1])
