"""`compare`: runs side by side, the best first."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from seqkit.commands import outputs
from seqkit.config import Config
from seqkit.foundation import stdout
from seqkit.foundation.console import Console
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.wording import aligned, decimals, duration, json_text, visible_line
from seqkit.report import charts
from seqkit.runs.layout import find_runs
from seqkit.runs.record import DATA_KEYS, Record, read

_SECTIONS = ("data", "model", "optimizer", "train")
_KEYS = ("recipe", "seed", "init_from", "device")  # of the root, that shape a training
_SHOWN = 5  # names of what is left out
_OUTCOMES = ("finished", "pruned", "diverged")


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Print what differs between runs, in settings and results; draw their learning curves."""
    del catalogue
    stdout.existing()
    picture = outputs.result_file(config)
    if picture:
        charts.check_name(picture)
    folders, others = find_runs(config.runs)
    if others:
        names = ", ".join(visible_line(str(other)) for other in others[:_SHOWN])
        names += " …" if len(others) > _SHOWN else ""
        console.notice(f"left out, since they are no runs: {names}")
    found = []
    with console.progress("compare", len(folders), unit="runs") as bar:
        for number, folder in enumerate(folders, 1):
            found.append(read(folder))
            bar.update(number)
    for problem in [problem for record in found for problem in record.problems]:
        console.notice(visible_line(problem))
    groups = _groups(found)
    if len(groups) > 1:
        console.notice("not measured on the same data: losses compare within a group only")
    if config.json:
        outputs.print_lines([json_text(_result(groups, _differing(found), others))])
    else:
        outputs.print_lines(_lines(groups))
    if picture:
        with console.progress("drawing"):
            charts.compare(picture, groups, overwrite=config.overwrite)
        console.notice(f"written: {picture}")


def _groups(found: Iterable[Record]) -> list[list[Record]]:
    """Runs whose losses can be compared, the best first; the largest group first."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in found:
        groups.setdefault(record.measured_on, []).append(record)
    for group in groups.values():
        group.sort(key=lambda one: math.inf if (loss := _loss(one)) is None else loss)
    return sorted(groups.values(), key=len, reverse=True)


def _differing(found: Sequence[Record]) -> list[str]:
    """The keys that shape a training and differ between runs."""
    known = [record.keys for record in found if record.settings]
    names = known[0] if known else {}
    return [
        name
        for name in names
        if (name in _KEYS or name.partition(".")[0] in _SECTIONS)
        and len({repr(settings[name]) for settings in known}) > 1
    ]


def _result(
    groups: Sequence[Sequence[Record]], differing: Sequence[str], others: Sequence[Path]
) -> dict[str, Any]:
    """All of it as one JSON object."""
    runs = [
        {
            "run": str(record.path),
            "group": number,
            "outcome": _outcome(record),
            "loss": _loss(record),
            "bits_per_symbol": _bits(record),
            "share": record.metrics.share,
            "best_step": record.best and record.best[0],
            "steps": _steps(record),
            "seconds": record.seconds,
            "parameters": _parameters(record),
            "data": record.text("data", "name") or None,
            "data_sha256": record.text("data", "sha256") or None,
            "settings": {name: keys.get(name) for name in differing},
            "problems": record.problems,
        }
        for number, group in enumerate(groups, 1)
        for record in group
        for keys in [record.keys]
    ]
    return {"runs": runs, "differing": list(differing), "left_out": [*map(str, others)]}


def _loss(record: Record) -> float | None:
    """The best validation loss, as its metrics say, or its summary where these are damaged."""
    return record.best[1] if record.best else record.number("best_validation_loss")


def _bits(record: Record) -> float | None:
    loss = _loss(record)
    return None if loss is None else loss / math.log(2)


def _steps(record: Record) -> int | None:
    found = record.metrics.step or record.number("steps")
    return None if found is None else int(found)


def _parameters(record: Record) -> int | None:
    found = record.number("parameters")
    return None if found is None else int(found)


def _outcome(record: Record) -> str:
    return record.state if record.state in _OUTCOMES else "unfinished"


def _lines(groups: Sequence[Sequence[Record]]) -> list[str]:
    """What people read of every group."""
    if len(groups) == 1:
        return _table(groups[0])
    told = [key for key in _differing([group[0] for group in groups]) if key in DATA_KEYS]
    lines: list[str] = []
    for group in groups:
        lines += [*([""] if lines else []), visible_line(_heading(group[0], told)), *_table(group)]
    return lines


def _heading(first: Record, told: Sequence[str]) -> str:
    """What the runs of a group were measured on, by the first one."""
    name, sha256 = first.text("data", "name"), first.text("data", "sha256")
    known = f"{name}, sha256 {sha256[:8]}…" if sha256 else "not known"
    keys = first.keys
    return f"data: {known}{''.join(f', {key}={_value(keys.get(key))}' for key in told)}"


def _table(group: Sequence[Record]) -> list[str]:
    """A line for each run."""
    differing = _differing(group)
    last = [name.rpartition(".")[2] for name in differing]  # where that leaves no doubt
    short = [
        one if last.count(one) == 1 else name for name, one in zip(differing, last, strict=True)
    ]
    rows = [("run", "loss", "bits", "steps", "time", "parameters", "outcome", *short)]
    for record in group:
        loss, bits, steps = _loss(record), _bits(record), _steps(record)
        parameters, keys = _parameters(record), record.keys
        rows.append(
            (
                visible_line(str(record.path)),
                "-" if loss is None else decimals(loss, 4),
                "-" if bits is None else decimals(bits, 4),
                "-" if steps is None else str(steps),
                "-" if record.seconds is None else duration(record.seconds),
                "-" if parameters is None else f"{parameters:,}",
                _outcome(record),
                *(visible_line(_value(keys.get(name))) for name in differing),
            )
        )
    share = group[0].metrics.share
    scored = f"these losses are on {100 * share:.2g} % of the validation part"
    return [*aligned(rows), *([scored] if share < 1 else [])]


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "-"
    return "-" if value is None or value == "" else str(value)
