"""A picture of learning curves."""

import io
from collections.abc import Sequence
from pathlib import Path

from seqkit import disk
from seqkit.errors import ConfigError
from seqkit.runs.records import Record

FORMATS = (".svg", ".png", ".pdf")
_PANELS = (("step", "steps"), ("seconds", "seconds of training"))


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
        for panel, (key, label) in zip(axes, _PANELS, strict=True):
            for number, record in enumerate(records):
                colour = f"C{number % 10}"
                style = ("-", "--", ":", "-.")[number // 10 % 4]
                for event, alpha, mark in (("train", 0.25, None), ("validate", 1.0, ".")):
                    lines = [line for line in record.metrics if line["event"] == event]
                    panel.plot(
                        [line[key] for line in lines],
                        [line["loss"] for line in lines],
                        color=colour,
                        alpha=alpha,
                        linestyle=style,
                        marker=mark,
                        label=_label(record) if mark else None,
                    )
            panel.set_xlabel(label)
            panel.grid(alpha=0.3)
        axes[0].set_ylabel("nats per symbol")
        axes[0].set_title(_plain(str(records[0].data.get("name", "unknown data"))))
        axes[-1].legend(loc="upper right", fontsize="small")
    content, kind = io.BytesIO(), file.suffix.lower().removeprefix(".")
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with mpl.rc_context({"svg.hashsalt": "seqkit"}):
        figure.savefig(content, format=kind, metadata=dateless)
    with disk.atomic_write(file, overwrite) as stream:
        stream.write(content.getvalue())


def _label(record: Record) -> str:
    return _plain(str(record.path))


def _plain(text: str) -> str:
    """A text as matplotlib shows it to the letter: $ begins a formula, _ hides a label."""
    shown = disk.shown(text).encode("ascii", "backslashreplace").decode().replace("$", r"\$")
    return f"./{shown}" if shown.startswith("_") else shown
