"""What runs left, read for comparison: finished or not, of any version, damaged in parts or not.

Nothing here needs PyTorch, and nothing that a file says is imported or executed.
"""

import glob
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors

from seqkit import disk
from seqkit.checking import default_of
from seqkit.config import options
from seqkit.config_file import LARGEST, from_yaml
from seqkit.errors import ConfigError
from seqkit.runs.layout import RunFiles

_DEEPEST = 2  # folders between a match and its runs: RECIPE/TIME
DATA_KEYS = tuple(
    f"data.{key}"
    for key in (
        *("split", "kind", "codec", "levels", "sample_rate", "channel", "gain"),
        *("encoding", "newline", "unknown", "max_vocabulary"),
    )
)
"""Keys that decide what a loss is measured on, besides the data itself."""


@dataclass(frozen=True)
class Record:
    """One run.

    settings: all keys by their dotted names; empty if they cannot be read.
    metrics: the lines of metrics.jsonl that can be read: `event`, and the numbers `step`,
        `seconds` and `loss` at least.
    summary: of a finished run; else empty.
    data: the data's `name` and `sha256`, as far as known.
    parameters: how many weights, if known.
    problems: what could not be read, in words.
    """

    path: Path
    settings: dict[str, Any]
    metrics: list[dict[str, Any]]
    summary: dict[str, Any]
    data: dict[str, Any]
    parameters: int | None
    problems: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """Whether it came to its end."""
        return "finished" if self.summary else "unfinished"

    @property
    def best(self) -> dict[str, Any] | None:
        """The validation with the lowest loss, if there was one."""
        validations = [line for line in self.metrics if line["event"] == "validate"]
        return min(validations, key=lambda line: line["loss"], default=None)

    @property
    def last(self) -> dict[str, Any] | None:
        """The last line of metrics, if there is one."""
        return self.metrics[-1] if self.metrics else None

    @property
    def seconds(self) -> float | None:
        """How long it took: with everything if it is finished, else its steps up to `last`."""
        whole = self.summary.get("elapsed_seconds")
        if isinstance(whole, int | float):
            return float(whole)
        return None if self.last is None else float(self.last["seconds"])

    @property
    def measured_on(self) -> tuple[Any, ...]:
        """What a loss is measured on: only those of the same can be compared."""
        known = self.data.get("sha256") or f"unknown, of {self.path}"
        return (str(known), *(repr(self.settings.get(key)) for key in DATA_KEYS))


def find(pattern: str) -> tuple[list[Path], list[Path]]:
    """The folders of runs that a glob matches or that lie in what it matches; and other matches.

    Raises:
        ConfigError: there is no run.
    """
    matches = [pattern] if Path(pattern).is_dir() else _glob(pattern)
    runs: dict[Path, None] = {}
    others = []
    for match in (folder for folder in map(Path, matches) if folder.is_dir()):
        below = [
            file.parent
            for depth in range(1, _DEEPEST + 1)
            for file in match.glob("*/" * depth + "config.yaml")
        ]
        inside = [match] if _is_run(match) else sorted(filter(_is_run, below))
        runs |= dict.fromkeys(inside)
        if not inside:
            others.append(match)
    if not runs:
        raise ConfigError(
            f"runs={pattern}: no run there: give a folder of runs, or a glob as in runs='runs/*'"
        )
    return list(runs), others


def _glob(pattern: str) -> list[str]:
    # Path.glob takes no absolute pattern.
    return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207


def _is_run(folder: Path) -> bool:
    files = RunFiles(folder)
    return files.metrics.is_file() or (files.config.is_file() and files.checkpoints.is_dir())


def read(folder: Path) -> Record:
    """The run in a folder, as much of it as can be read."""
    files, problems = RunFiles(folder), list[str]()
    settings = _settings(files.config, problems)
    metrics = _metrics(files.metrics, problems)
    summary = _summary(files.summary, problems)
    header = {} if summary else _checkpoint_header(files)
    data = summary.get("data", header.get("data"))
    parameters = summary.get("parameters", header.get("parameters"))
    return Record(
        path=folder,
        settings=settings,
        metrics=metrics,
        summary=summary,
        data=data if isinstance(data, dict) else {},
        parameters=parameters if isinstance(parameters, int) else None,
        problems=problems,
    )


def _settings(file: Path, problems: list[str]) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            config = from_yaml(stream.read(LARGEST), str(file))
    except OSError as error:
        problems.append(f"{file}: cannot be read: {disk.describe(error)}")
        return {}
    except ConfigError as error:
        problems.append(str(error))
        return {}
    found = {}
    for name, item in options():
        holder, _, key = name.rpartition(".")
        found[name] = getattr(getattr(config, holder) if holder else config, key, default_of(item))
    return found


def _metrics(file: Path, problems: list[str]) -> list[dict[str, Any]]:
    """The lines with a loss that is a number; whatever else stands there is told."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        problems.append(f"{file}: cannot be read: {disk.describe(error)}")
        return []
    found = [line for text in lines if (line := _metric(text)) is not None]
    if damaged := len(lines) - len(found):
        problems.append(f"{file}: {damaged} of {len(lines)} lines are damaged and left out")
    return found


def _metric(text: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
        numbers = {key: float(line[key]) for key in ("step", "seconds", "loss")}
        known = line["event"] in ("train", "validate")
        return {**line, **numbers} if known and all(map(math.isfinite, numbers.values())) else None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _summary(file: Path, problems: list[str]) -> dict[str, Any]:
    try:
        summary = json.loads(file.read_bytes())
        if isinstance(summary, dict):
            return summary
        problems.append(f"{file}: damaged: no JSON object")
    except FileNotFoundError:
        pass  # the run is not finished
    except OSError as error:
        problems.append(f"{file}: cannot be read: {disk.describe(error)}")
    except (ValueError, RecursionError) as error:
        problems.append(f"{file}: damaged: {error}")
    return {}


def _checkpoint_header(files: RunFiles) -> dict[str, Any]:
    """Data and parameters as a checkpoint has them; only its header is read, and not verified."""
    for name in ("last", "best", "previous"):
        try:
            with safetensors.safe_open(files.checkpoint(name), framework="np") as opened:
                header = json.loads(opened.metadata()["seqkit"])
                shapes = [
                    opened.get_slice(tensor).get_shape()
                    for tensor in opened.keys()  # noqa: SIM118
                    if tensor.startswith("model.")
                ]
            return {"data": header["data"], "parameters": sum(map(math.prod, shapes))}
        except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError):
            continue
    return {}
