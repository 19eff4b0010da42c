"""`compare`: runs side by side, the best first."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from seqkit.config import Keys
from seqkit.foundation import stdout
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.run_folders import find_runs
from seqkit.foundation.wording import aligned, duration, first_of, visible_line
from seqkit.runs.record import Record, read

_SECTIONS = ("data", "model", "optimizer", "train")
_KEYS = ("recipe", "seed", "init_from", "device")  # of the root, that shape a training
_OUTCOMES = ("finished", "diverged")
_PLACES = ("data.path", "data.dataset")  # which do not change how it is read
_MOST = 8  # columns of keys
_LIKE = {"True": "yes", "False": "no"}


def run(keys: Keys, catalogue: Catalogue, console: Console) -> None:
    """Print what differs between runs, in settings and results."""
    stdout.existing()
    folders, others = find_runs(keys.runs)
    if others:
        names = first_of([visible_line(str(other)) for other in others])
        console.notice(f"left out, since they are no runs: {names}")
    records = list[Record]()
    with console.progress("compare", len(folders), unit="runs") as bar:
        for folder in folders:
            records.append(read(folder))
            bar.add(1)
    # Those on the same data stand together, the best first.
    records.sort(key=lambda run: (_data(run), math.inf if run.loss is None else run.loss))
    groups = [_data(record) for record in records]
    differing = _differing(records)
    rows = [_row(record, differing) for record in records]
    if len({*groups}) > 1:
        console.notice(
            "losses compare within a block: those of another one differ in their data, or in how "
            "they read them"
        )
    if keys.json:
        found = {"runs": rows, "differing": differing, "left_out": [*map(str, others)]}
        stdout.write(json.dumps(found))
    else:
        given = [n for n in differing if all(_shown(row["settings"][n]) != "-" for row in rows)]
        columns = differing if len(differing) <= _MOST else given[:_MOST]
        if left := len(differing) - len(columns):
            console.notice(f"keys that differ beside those shown: {left} (json=true has all)")
        stdout.write(_table(rows, columns, groups))


def _data(record: Record) -> str:
    """What tells the data of a run, as it reads them, from other data."""
    read = {k: v for k, v in record.keys.items() if k.startswith("data.") and k not in _PLACES}
    return f"{record.text('data', 'sha256') or record.path} {read}"


def _differing(records: Sequence[Record]) -> list[str]:
    """The keys that shape a training and differ between runs."""
    known = [record.keys for record in records if record.keys]
    names = dict(known[0]) if known else {}
    if any(settings["data.path"] for settings in known):  # which comes before it
        names.pop("data.dataset")
    return [
        name
        for name in names
        if (name in _KEYS or name.partition(".")[0] in _SECTIONS)
        and len({repr(settings[name]) for settings in known}) > 1
    ]


def _row(record: Record, differing: Sequence[str]) -> dict[str, Any]:
    loss, likeness = record.loss, record.fact("likeness")
    return {
        "run": str(record.path),
        "outcome": record.state if record.state in _OUTCOMES else "unfinished",
        "loss": loss,
        "bits_per_symbol": None if loss is None else loss / math.log(2),
        "likeness": likeness if isinstance(likeness, Mapping) else None,
        "best_step": record.best and record.best[0],
        "steps": record.step,
        "seconds": record.seconds,
        "parameters": record.number("parameters"),
        "data": record.text("data", "name") or None,
        "data_sha256": record.text("data", "sha256") or None,
        "settings": {name: record.keys.get(name) for name in differing},
    }


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], groups: Sequence[str]) -> str:
    """A line for each run, and an empty one between groups."""
    last = [name.rpartition(".")[2] for name in columns]  # where that leaves no doubt
    short = [
        word if last.count(word) == 1 else name for name, word in zip(columns, last, strict=True)
    ]
    like = ["like it"] if any(row["likeness"] for row in rows) else []
    cells = [["run", "loss", "bits", "steps", "time", "parameters", "outcome", *like, *short]]
    for row in rows:
        loss, bits, seconds = row["loss"], row["bits_per_symbol"], row["seconds"]
        shown = [
            row["run"],
            None if loss is None else f"{loss:.4f}",
            None if bits is None else f"{bits:.4f}",
            row["steps"],
            None if seconds is None else duration(seconds),
            row["parameters"] and f"{row['parameters']:,}",
            row["outcome"],
            *(_LIKE.get(str((row["likeness"] or {}).get("is_like"))) for _ in like),
            *(row["settings"][name] for name in columns),
        ]
        cells.append([visible_line(_shown(value)) for value in shown])
    head, *lines = aligned(cells)
    for before in range(len(groups) - 1, 0, -1):
        if groups[before] != groups[before - 1]:
            lines.insert(before, "")
    return "\n".join([head, *lines])


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "-"
    return "-" if value is None or value == "" else str(value)
