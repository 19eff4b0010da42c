"""`compare`: runs side by side, the best first."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from seqkit.advice import charts
from seqkit.advice.diagnosis import record_of, said_of_last_sample
from seqkit.commands import outputs
from seqkit.config import Config
from seqkit.evaluation.likeness import Distances
from seqkit.foundation import stdout
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.wording import aligned, decimals, duration, json_text, visible_line
from seqkit.runs.layout import find_runs
from seqkit.runs.record import Record, read

_SECTIONS = ("data", "model", "optimizer", "train")
_KEYS = ("recipe", "seed", "init_from", "device")  # of the root, that shape a training
_SHOWN = 5  # names of what is left out
_OUTCOMES = ("finished", "pruned", "diverged")


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Print what differs between runs, in settings and results; draw their learning curves."""
    stdout.existing()
    picture = outputs.result_file(config)
    if picture:
        charts.check_name(picture)
    folders, others = find_runs(config.runs)
    if others:
        names = ", ".join(visible_line(str(other)) for other in others[:_SHOWN])
        names += " …" if len(others) > _SHOWN else ""
        console.notice(f"left out, since they are no runs: {names}")
    records = []
    with console.progress("compare", len(folders), unit="runs") as bar:
        for number, folder in enumerate(folders, 1):
            records.append(read(folder))
            bar.update(number)
    for problem in [problem for record in records for problem in record.problems]:
        console.notice(visible_line(problem))
    groups = _groups(records)
    if len(groups) > 1:
        console.notice(
            "these groups were measured on different data, or on the same data read differently "
            "(as with another vocabulary): losses compare within a group only"
        )
    differing = _differing(records)
    rows = [[_row(run, n, differing) for run in group] for n, group in enumerate(groups, 1)]
    if config.json:
        left_out = [*map(str, others)]
        result = {"runs": [*chain(*rows)], "differing": differing, "left_out": left_out}
        stdout.write(json_text(result))
    else:
        headed = len(rows) > 1
        tables = [
            _table(lines, _differing(group), headed=headed)
            for lines, group in zip(rows, groups, strict=True)
        ]
        stdout.write("\n\n".join(tables))
    if picture:
        with console.progress("drawing"):
            charts.compare(picture, groups, overwrite=config.overwrite)
        console.notice(f"written: {picture}")


def _groups(records: Iterable[Record]) -> list[list[Record]]:
    """Runs whose losses can be compared, the best first; the largest group first."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(record.measured_on, []).append(record)
    for group in groups.values():
        group.sort(key=lambda one: math.inf if (loss := _loss(one)) is None else loss)
    return sorted(groups.values(), key=len, reverse=True)


def _differing(records: Sequence[Record]) -> list[str]:
    """The keys that shape a training and differ between runs."""
    known = [record.keys for record in records if record.settings]
    names = known[0] if known else {}
    return [
        name
        for name in names
        if (name in _KEYS or name.partition(".")[0] in _SECTIONS)
        and len({repr(settings[name]) for settings in known}) > 1
    ]


def _row(record: Record, number: int, differing: Sequence[str]) -> dict[str, Any]:
    """What is told of a run, the group of which has a number."""
    loss, steps = _loss(record), record.metrics.step or record.number("steps")
    said = said_of_last_sample(record)
    parameters, keys = record.number("parameters"), record.keys
    return {
        "run": str(record.path),
        "group": number,
        "outcome": record.state if record.state in _OUTCOMES else "unfinished",
        "loss": loss,
        "bits_per_symbol": None if loss is None else loss / math.log(2),
        "likeness": said and record_of(said),
        "share": record.metrics.share,
        "best_step": record.best and record.best[0],
        "steps": None if steps is None else int(steps),
        "seconds": record.seconds,
        "parameters": None if parameters is None else int(parameters),
        "data": record.text("data", "name") or None,
        "data_sha256": record.text("data", "sha256") or None,
        "settings": {name: keys.get(name) for name in differing},
        "problems": record.problems,
    }


def _loss(record: Record) -> float | None:
    """The best validation loss, as its metrics say, or its summary where these are damaged."""
    return record.best[1] if record.best else record.number("best_validation_loss")


def _table(rows: Sequence[dict[str, Any]], differing: Sequence[str], *, headed: bool) -> str:
    """A line for each run of a group, and if need be the data that they were measured on.

    `differing` are the keys in which the runs of this group differ.
    """
    last = [name.rpartition(".")[2] for name in differing]  # where that leaves no doubt
    short = [
        word if last.count(word) == 1 else name for name, word in zip(differing, last, strict=True)
    ]
    sounds = any(row["likeness"] for row in rows)
    heard = ("like it", *Distances._fields) if sounds else ()
    cells = [("run", "loss", "bits", "steps", "time", "parameters", "outcome", *heard, *short)]
    cells += [
        (
            visible_line(row["run"]),
            _shown(row["loss"], lambda loss: decimals(loss, 4)),
            _shown(row["bits_per_symbol"], lambda bits: decimals(bits, 4)),
            _shown(row["steps"]),
            _shown(row["seconds"], duration),
            _shown(row["parameters"], "{:,}".format),
            row["outcome"],
            *(_heard(row["likeness"] or {}) if sounds else ()),
            *(visible_line(_shown(row["settings"][name])) for name in differing),
        )
        for row in rows
    ]
    lines, first = aligned(cells), rows[0]
    if headed:
        sha256 = f", sha256 {first['data_sha256'][:8]}…" if first["data_sha256"] else ""
        lines.insert(0, f"data: {visible_line(first['data'] or 'not known')}{sha256}")
    if first["share"] < 1:
        lines.append(f"these losses are on {100 * first['share']:.2g} % of the validation part")
    return "\n".join(lines)


def _heard(likeness: dict[str, Any]) -> list[str]:
    """Whether the closing sample is like its recording, and its distances from it."""
    is_like = likeness.get("is_like")
    values = [_shown(likeness.get(name), "{:.2f}".format) for name in Distances._fields]
    return ["-" if is_like is None else "yes" if is_like else "no", *values]


def _shown(value: Any, words: Callable[[Any], str] = str) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "-"
    return "-" if value is None or value == "" else words(value)
