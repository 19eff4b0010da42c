"""Curves as pictures, drawn by matplotlib: of a run, and of several runs.

The same values give the same file.
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.wording import visible_line
from seqkit.runs.record import Record

FORMATS = (".svg", ".png", ".pdf")
"""The endings of the pictures that can be written."""
_STYLES = "-", "--", ":", "-."
_AT_THE_RIGHT: dict[str, Any] = {"ha": "right", "va": "bottom"}
_GREY = "#808080"  # legible on light and on dark paper
_ON_PAPER: dict[Any, Any] = {"svg.fonttype": "none", "font.size": 11, **dict.fromkeys(
    ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _GREY
)}  # fmt: skip


def check_name(file: Path) -> None:
    """Raise ConfigError for a name whose ending is no format of a picture."""
    if file.suffix.lower() not in FORMATS:
        raise ConfigError(f"out={file}: give a name that ends in {', '.join(FORMATS)}")


def of_run(record: Record, lines: Mapping[str, float]) -> bytes:
    """An SVG of a run's losses for its page, whatever its paper; empty if there are none.

    `lines` are baselines, nats a symbol by name.
    """
    import matplotlib
    from matplotlib.figure import Figure

    train, validation = record.metrics.train, record.metrics.validation
    seen = [*train.values.tolist(), *validation.values.tolist()]
    if not seen:
        return b""
    # A loss that explodes must not flatten the rest.
    highest = min(max(seen), 1.5 * max([*lines.values(), seen[0]]))
    with matplotlib.rc_context(_ON_PAPER):
        figure = Figure(figsize=(11, 4), layout="tight")
        panel = figure.subplots()
        panel.plot(*train, linewidth=1, label="training")
        panel.plot(*validation, marker=".", label="validation")
        for name, nats in lines.items():
            if nats <= highest:
                panel.axhline(nats, color=_GREY, linestyle="--", linewidth=1)
                panel.text(1, nats, name, **_AT_THE_RIGHT, transform=panel.get_yaxis_transform())
        panel.set(ylim=(None, 1.05 * highest), xlabel="step", ylabel="nats per symbol")
        panel.legend(frameon=False)
        panel.grid(alpha=0.3)
        return _content(figure, "svg", transparent=True)


def compare(file: Path, records: Sequence[Record], *, overwrite: bool) -> None:
    """Draw the losses of runs by steps: those in validation, and paler those in training.

    Raises:
        OutputError: the file cannot be written, or is there and `overwrite` is false.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), dpi=100, layout="constrained")
    panel = figure.subplots()
    for number, record in enumerate(records):
        look: dict[str, Any] = {"color": f"C{number % 10}", "linestyle": _STYLES[number // 10 % 4]}
        name = _plain(str(record.path))
        panel.plot(*record.metrics.train, **look, alpha=0.25)
        panel.plot(*record.metrics.validation, **look, marker=".", label=name)
    panel.set(xlabel="steps", ylabel="nats per symbol")
    panel.legend(loc="upper right", fontsize="small")
    panel.grid(alpha=0.3)
    content = _content(figure, file.suffix.lower().removeprefix("."))
    with disk.atomic_write(file, overwrite) as stream:
        stream.write(content)


def _content(figure: Any, kind: str, *, transparent: bool = False) -> bytes:
    import matplotlib

    content = io.BytesIO()
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context({"svg.hashsalt": "seqkit"}):
        figure.savefig(content, format=kind, metadata=dateless, transparent=transparent)
    return content.getvalue()


def _plain(text: str) -> str:
    """A text as matplotlib shows it to the letter: $ begins a formula, _ hides a label."""
    shown = visible_line(text).encode("ascii", "backslashreplace").decode().replace("$", r"\$")
    return f"./{shown}" if shown.startswith("_") else shown
