"""Curves as pictures: SVG that stands inside a page and takes its colours, or a file of its own.

matplotlib is slow to import, and few commands draw: it is imported where that is done.
"""

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup

from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.wording import rounded, visible_line
from seqkit.runs.record import Curve, Record
from seqkit.symbols import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 240  # of a curve, which is about 400 pixels wide
_INCHES, _WIDE = (5.0, 2.9), (10.0, 3.6)
_HEADROOM = 1.05
_APART = 0.075  # between the names of two lines, as a share of the axis
_FORMATS = (".svg", ".png", ".pdf")
_PANELS = ("steps", "seconds of training")
# matplotlib draws in these, and the page says what each of them is in light and in dark.
_INK, _GRID, _TRAIN, _VALIDATION, _BASELINE = (f"#00000{n}" for n in range(1, 6))
_VARIABLES = {
    _INK: "var(--ink)",
    _GRID: "var(--grid)",
    _TRAIN: "var(--train)",
    _VALIDATION: "var(--validation)",
    _BASELINE: "var(--baseline)",
}
_STYLE: dict[Any, Any] = {
    "axes.edgecolor": _GRID,
    "axes.facecolor": "none",
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "grid.color": _GRID,
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",  # the page's own font
    "svg.hashsalt": "seqkit",  # the same curves are the same bytes
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


class Thinned(NamedTuple):
    """At most so many points (n,): the mean of the values around each, the lowest, the highest."""

    steps: Floats
    mean: Floats
    low: Floats
    high: Floats


def thinned(curve: Curve, most: int = _POINTS) -> Thinned:
    """A curve of as many points as can be seen, its extremes kept."""
    steps, values = curve
    count = min(len(steps), most)
    if not count:
        return Thinned(steps, values, values, values)
    begins = np.arange(count) * len(steps) // count
    sizes = np.diff(begins, append=len(steps))
    return Thinned(
        np.add.reduceat(steps, begins) / sizes,
        np.add.reduceat(values, begins) / sizes,
        np.minimum.reduceat(values, begins),
        np.maximum.reduceat(values, begins),
    )


def losses(train: Curve, validation: Curve, lines: Mapping[str, float]) -> Markup:
    """The loss of training and validation, and baselines as lines: nats a symbol, by name."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        axes = _axes()
        _draw(axes, train)
        points = thinned(validation)
        axes.plot(points.steps, points.mean, color=_VALIDATION, marker="o", markersize=3.5)
        seen = np.concatenate([train.values, validation.values])
        # A loss that explodes must not flatten the rest.
        highest = min(float(seen.max()), 1.5 * max([*lines.values(), seen[0]]))
        below = {name: value for name, value in lines.items() if value <= highest}
        lowest = min([float(seen.min()), *below.values()])
        room = max(highest - lowest, 1e-3) * (_HEADROOM - 1)
        axes.set_ylim(lowest - room, highest + 2 * room)
        _name_lines(axes, below)
        return _svg("loss", axes.figure)


def quantity(name: str, curve: Curve, *, logarithmic: bool = False) -> Markup:
    """Another curve of the training; `name` is a word of its own on the page."""
    import matplotlib
    from matplotlib.ticker import LogLocator

    with matplotlib.rc_context(_STYLE):
        axes = _axes()
        if logarithmic:
            positive = curve.values > 0
            curve = Curve(curve.steps[positive], curve.values[positive])
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        else:
            axes.set_ylim(0, max(float(curve.values.max()), 1e-12) * _HEADROOM)
        if logarithmic or curve.values.max() >= 1000:
            axes.yaxis.set_major_formatter(lambda value, _: rounded(value))
        _draw(axes, curve)
        return _svg(name, axes.figure)


def under_waveform(low: Floats, high: Floats, curve: Curve) -> Markup:
    """A quantity by time under a wave's lowest and highest samples (N,) at the curve's seconds."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=_WIDE, dpi=72)
        above, below = figure.subplots(2, 1, sharex=True)
        above.fill_between(curve.steps, low, high, color=_TRAIN, linewidth=0.5)
        above.margins(x=0)
        above.set_axis_off()
        below.grid(visible=True, axis="y")
        below.plot(*curve, color=_VALIDATION, linewidth=0.8)
        below.margins(x=0)
        below.set_xlabel("seconds")
        figure.subplots_adjust(left=0.06, right=0.99, bottom=0.14, top=0.98)
        return _svg("sound", figure)


def _axes() -> "Axes":
    """One pair of axes by step, in a figure of its own."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    axes = Figure(figsize=_INCHES, dpi=72).add_axes((0.16, 0.15, 0.825, 0.81))
    axes.grid(visible=True, axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: rounded(value))
    axes.set_xlabel("step")
    return axes


def _draw(axes: "Axes", curve: Curve) -> None:
    points = thinned(curve)
    axes.fill_between(points.steps, points.low, points.high, color=_TRAIN, alpha=0.2, linewidth=0)
    lone = "o" if len(points.steps) == 1 else ""
    axes.plot(points.steps, points.mean, color=_TRAIN, marker=lone, markersize=3.5)


def _name_lines(axes: "Axes", lines: Mapping[str, float]) -> None:
    """Draw lines across, each named at its right end, the names clear of each other."""
    (low, high), place = axes.get_ylim(), -1.0
    for name, value in sorted(lines.items(), key=lambda item: item[1]):
        place = max((value - low) / (high - low), place + _APART)
        axes.axhline(value, color=_BASELINE, linestyle=(0, (4, 3)), linewidth=1)
        axes.text(
            *(1, place + 0.01, name),
            transform=axes.transAxes,
            color=_BASELINE,
            horizontalalignment="right",
            fontsize=9,
        )


def _svg(name: str, figure: Any) -> Markup:
    """The element `svg` of a figure; its ids begin with `name`."""
    content = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(content, format="svg", metadata=nothing)
    svg = content.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<style.*?</style>|<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    return Markup(svg)


def check_name(file: Path) -> None:
    """Raise ConfigError for a name whose ending is no format of a picture."""
    if file.suffix.lower() not in _FORMATS:
        raise ConfigError(f"out={file}: give a name that ends in {', '.join(_FORMATS)}")


def compare(file: Path, groups: Sequence[Sequence[Record]], *, overwrite: bool) -> None:
    """Draw the losses of runs by steps and by time, a row of panels for each group.

    Lines are validation losses, and paler ones those in training. The same runs give the same file.

    Raises:
        OutputError: the file cannot be written, or is there and `overwrite` is false.
    """
    import matplotlib
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
    with matplotlib.rc_context({"svg.hashsalt": "seqkit"}):
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
