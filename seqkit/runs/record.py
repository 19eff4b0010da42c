"""What lies in a run's folder, as far as it can be read: a run may be going, killed or damaged."""

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from seqkit.config import values_of
from seqkit.foundation.config_file import to_yaml
from seqkit.foundation.errors import SeqkitError
from seqkit.foundation.run_folders import RunFiles
from seqkit.runs.folder import is_locked
from seqkit.runs.resume import read_config
from seqkit.symbols import Floats

State = Literal["running", "finished", "stopped", "diverged", "ended"]
"""How a run stands. `ended`: it is not going any more and left no word why, as after a kill."""

_SAMPLE = re.compile(r"step_(\d{1,15})\.(txt|wav)")
_LARGEST = 1e40  # of a number that a run can have written; NaN is not less
_Line = dict[str, float]
_RECENT = 0.1  # the share of the values that are averaged


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
class Record:
    """A run's folder.

    train: losses, nats a symbol.
    validation: losses on the validation part.
    reported, trained_seconds, symbols: of the last line of its metrics; `symbols` were trained on,
        repeats included.
    keys: all settings by their dotted names, as its newest checkpoint has them; empty if it cannot
        be read.
    settings: these as YAML.
    facts: the object of summary.json over that of about.json, see docs/reference/files.md.
    samples: steps and files; `final` is the closing sample of sound, and `data` the data's own.
    """

    path: Path
    train: Curve
    validation: Curve
    reported: int
    trained_seconds: float
    symbols: float
    state: State
    keys: Mapping[str, Any]
    settings: str
    facts: Mapping[str, Any]
    samples: Sequence[tuple[int, Path]]
    final: Path | None
    data: Path | None

    @property
    def step(self) -> int:
        """The last one, of which no report need be."""
        ended = self.number("steps") or self.number("ended", "step") or 0
        return max(self.reported, int(ended))

    @property
    def best(self) -> tuple[int, float] | None:
        """Step and loss of the validation with the lowest loss, if there was one."""
        steps, losses = self.validation
        if not len(losses):
            return None
        place = int(losses.argmin())
        return int(steps[place]), float(losses[place])

    @property
    def loss(self) -> float | None:
        """The best validation loss, as its metrics say, or its summary where these are damaged."""
        return self.best[1] if self.best else self.number("best_validation_loss")

    @property
    def seconds(self) -> float | None:
        """How long it took: with everything if it is finished, else its steps so far."""
        return self.number("elapsed_seconds") or self.trained_seconds or None

    @property
    def passes(self) -> float | None:
        """How often the training part was read; None of runs that do not say how long it is."""
        length = self.number("data", "training_symbols")
        return self.symbols / length if self.symbols and length else None

    def number(self, *names: str) -> float | None:
        """A number among the facts; None if there is none that a run could have written."""
        value = self.fact(*names)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        return value if abs(value) <= _LARGEST else None

    def text(self, *names: str) -> str:
        """A text among the facts; empty if there is none."""
        value = self.fact(*names)
        return value if isinstance(value, str) else ""

    def fact(self, *names: str) -> object:
        """Whatever the facts have there; None if there is nothing."""
        value: Any = self.facts
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value


def read(path: Path, state: State | None = None) -> Record:
    """The run in a folder; its state, if it is not given, is found out."""
    files = RunFiles(path)
    train, validation = _metrics(files.metrics)
    every = train + validation
    about, summary = (_object(file) for file in (files.about, files.summary))
    if state is None:
        how = _part(about, "ended").get("how")
        left: State = how if how in ("stopped", "diverged") else "ended"
        state = "finished" if summary else "running" if is_locked(files.lock) else left
    keys, settings, names = dict[str, Any](), "", list[Path]()
    with contextlib.suppress(SeqkitError):
        config = read_config(path)
        keys, settings = values_of(config), to_yaml(config)
    with contextlib.suppress(OSError):  # there were none, perhaps
        in_folder = files.samples.iterdir()
        names = sorted(file for file in in_folder if file.is_file() and not file.is_symlink())
    samples = [(match, file) for file in names if (match := _SAMPLE.fullmatch(file.name))]
    extra = {file.name: file for file in names}
    return Record(
        path=path,
        train=_curve(train),
        validation=_curve(validation),
        reported=int(max((line["step"] for line in every), default=0)),
        trained_seconds=max((line.get("seconds", 0.0) for line in every), default=0.0),
        symbols=max((line.get("symbols", 0.0) for line in train), default=0.0),
        state=state,
        keys=keys,
        settings=settings,
        facts={**about, **summary, "data": {**_part(about, "data"), **_part(summary, "data")}},
        samples=sorted((int(match[1]), file) for match, file in samples),
        final=extra.get("final.wav"),
        data=extra.get("data.wav"),
    )


def _object(file: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if it is not there or damaged."""
    found = None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads(file.read_bytes())
    return found if isinstance(found, dict) else {}


def _part(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = whole.get(name)
    return part if isinstance(part, dict) else {}


def _metrics(file: Path) -> tuple[list[_Line], list[_Line]]:
    """The reports and the validations in a file; what no run can have written is left out."""
    known: dict[str, list[_Line]] = {"train": [], "validate": []}
    lines = list[bytes]()
    with contextlib.suppress(OSError):
        lines = file.read_bytes().splitlines()
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            content: Any = json.loads(line)
            numbers = {
                name: float(value)
                for name, value in content.items()
                if isinstance(value, int | float) and abs(value) <= _LARGEST
            }
            if numbers["step"] >= 0 and "loss" in numbers:
                known[content["event"]].append(numbers)  # a later seqkit may know other events
    return known["train"], known["validate"]


def _curve(lines: Sequence[_Line]) -> Curve:
    table = np.array([(line["step"], line["loss"]) for line in lines], np.float64).reshape(-1, 2)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Curve(table[:, 0], table[:, 1])
