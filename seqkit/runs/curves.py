"""A picture of learning curves."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.escaping import visible_line
from seqkit.runs.metrics import Curve
from seqkit.runs.record import Record
from seqkit.symbols import Floats

FORMATS = (".svg", ".png", ".pdf")
_PANELS = ("steps", "seconds of training")


def check_name(file: Path) -> None:
    """Raise ConfigError for a name whose ending is no format of a picture."""
    if file.suffix.lower() not in FORMATS:
        raise ConfigError(f"out={file}: give a name that ends in {', '.join(FORMATS)}")


def draw(file: Path, groups: Sequence[Sequence[Record]], *, overwrite: bool) -> None:
    """Draw the losses of runs by steps and by time, a row of panels for each group.

    Lines are validation losses, and paler ones those in training. The same runs give the same file.

    Raises:
        OutputError: the file cannot be written, or is there and `overwrite` is false.
    """
    import matplotlib as mpl  # slow to import, and few commands draw
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5 * len(groups)), dpi=100, layout="constrained")
    rows = figure.subplots(len(groups), len(_PANELS), squeeze=False, sharey="row")
    for axes, records in zip(rows, groups, strict=True):
        for panel, unit in zip(axes, _PANELS, strict=True):
            for number, record in enumerate(records):
                look = {
                    "color": f"C{number % 10}",
                    "linestyle": ("-", "--", ":", "-.")[number // 10 % 4],
                }
                found = record.metrics
                panel.plot(*_points(record, found.train["loss"], unit), **look, alpha=0.25)
                validation = _points(record, found.validation, unit)
                panel.plot(*validation, **look, marker=".", label=_plain(str(record.path)))
            panel.set_xlabel(unit)
            panel.grid(alpha=0.3)
        axes[0].set_ylabel("nats per symbol")
        axes[0].set_title(_plain(records[0].text("data", "name") or "unknown data"))
        axes[-1].legend(loc="upper right", fontsize="small")
    content, kind = io.BytesIO(), file.suffix.lower().removeprefix(".")
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with mpl.rc_context({"svg.hashsalt": "seqkit"}):
        figure.savefig(content, format=kind, metadata=dateless)
    with disk.atomic_write(file, overwrite) as stream:
        stream.write(content.getvalue())


def _points(record: Record, curve: Curve, unit: str) -> tuple[Floats, Floats]:
    """A curve's steps, or the seconds until them as far as they are known, and its values."""
    times = record.metrics.times
    if unit == "steps":
        return curve.steps, curve.values
    if not len(times.steps):
        return times.values, times.values
    return np.interp(curve.steps, times.steps, times.values), curve.values


def _plain(text: str) -> str:
    """A text as matplotlib shows it to the letter: $ begins a formula, _ hides a label."""
    shown = visible_line(text).encode("ascii", "backslashreplace").decode().replace("$", r"\$")
    return f"./{shown}" if shown.startswith("_") else shown
