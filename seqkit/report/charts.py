"""Curves as SVG that stands inside a page and takes its colours."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqkit.foundation.wording import rounded
from seqkit.runs.metrics import Curve
from seqkit.symbols import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 240  # of a curve, which is about 400 pixels wide
_INCHES, _WIDE = (5.0, 2.9), (10.0, 3.6)
_HEADROOM = 1.05
_APART = 0.075  # between the names of two lines, as a share of the axis
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
    "axes.titlecolor": _INK,
    "figure.facecolor": "none",
    "font.family": ["sans-serif"],
    "font.size": 10.0,
    "grid.color": _GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "path.simplify": True,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",  # the page's own font
    "svg.hashsalt": "seqkit",  # the same curves are the same bytes
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


class Chart(NamedTuple):
    """A picture of curves and what it is called."""

    title: str
    svg: str


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


def losses(train: Curve, validation: Curve, lines: Mapping[str, float]) -> Chart:
    """The loss of training and validation, and baselines as lines: nats a symbol, by name."""

    def draw(axes: "Axes") -> None:
        _draw(axes, train, _TRAIN)
        points = thinned(validation)
        axes.plot(points.steps, points.mean, color=_VALIDATION, marker="o", markersize=3.5)
        seen = np.concatenate([train.values, validation.values])
        # A loss that explodes must not flatten the rest.
        top = max([*lines.values(), seen[0]])
        highest = min(float(seen.max()), 1.5 * top)
        below = {name: value for name, value in lines.items() if value <= highest}
        lowest = min([float(seen.min()), *below.values()])
        room = max(highest - lowest, 1e-3) * (_HEADROOM - 1)
        axes.set_ylim(lowest - room, highest + 2 * room)
        _name_lines(axes, below)

    return Chart("Loss, nats a symbol", _svg("loss", draw))


def quantity(name: str, title: str, curve: Curve, *, logarithmic: bool = False) -> Chart:
    """Another curve of the training; `name` is a word of its own on the page."""

    def draw(axes: "Axes") -> None:
        from matplotlib.ticker import LogLocator

        shown = curve
        if logarithmic:
            positive = curve.values > 0
            shown = Curve(curve.steps[positive], curve.values[positive])
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(lambda value, _: rounded(value))
        else:
            axes.set_ylim(0, max(float(curve.values.max()), 1e-12) * _HEADROOM)
            if curve.values.max() >= 1000:
                axes.yaxis.set_major_formatter(lambda value, _: rounded(value))
        _draw(axes, shown, _TRAIN)

    return Chart(title, _svg(name, draw))


def under_waveform(title: str, low: Floats, high: Floats, curve: Curve) -> Chart:
    """A quantity by time under a wave's lowest and highest samples (N,) at the curve's seconds."""

    def fill(figure: "Figure") -> None:
        above, below = figure.subplots(2, 1, sharex=True)
        above.fill_between(curve.steps, low, high, color=_TRAIN, linewidth=0.5)
        above.margins(x=0)
        above.set_axis_off()
        below.grid(visible=True, axis="y")
        below.plot(*curve, color=_VALIDATION, linewidth=0.8)
        below.margins(x=0)
        below.set_xlabel("seconds")
        figure.subplots_adjust(left=0.06, right=0.99, bottom=0.14, top=0.98)

    return Chart(title, _element("sound", _WIDE, fill))


def _draw(axes: "Axes", curve: Curve, colour: str) -> None:
    points = thinned(curve)
    axes.fill_between(points.steps, points.low, points.high, color=colour, alpha=0.2, linewidth=0)
    lone = "o" if len(points.steps) == 1 else ""
    axes.plot(points.steps, points.mean, color=colour, marker=lone, markersize=3.5)


def _name_lines(axes: "Axes", lines: Mapping[str, float]) -> None:
    """Draw lines across, each named at its right end, the names clear of each other."""
    low, high = axes.get_ylim()
    names = sorted(lines.items(), key=lambda item: item[1])
    places = _spread([(value - low) / (high - low) for _, value in names])
    for (name, value), place in zip(names, places, strict=True):
        axes.axhline(value, color=_BASELINE, linestyle=(0, (4, 3)), linewidth=1)
        axes.text(
            *(1, place + 0.01, name),
            transform=axes.transAxes,
            color=_BASELINE,
            horizontalalignment="right",
            fontsize=9,
        )


def _spread(places: Sequence[float]) -> list[float]:
    """Ascending places, moved up where two are too close."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + _APART) if moved else place)
    return moved


def _svg(name: str, draw: "Callable[[Axes], None]") -> str:
    """The element `svg` of one pair of axes by step; its ids begin with `name`."""

    def fill(figure: "Figure") -> None:
        from matplotlib.ticker import MaxNLocator

        axes = figure.add_axes((0.16, 0.15, 0.825, 0.81))
        axes.grid(visible=True, axis="y")
        draw(axes)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.xaxis.set_major_formatter(lambda value, _: rounded(value))
        axes.set_xlabel("step")

    return _element(name, _INCHES, fill)


def _element(name: str, inches: tuple[float, float], fill: "Callable[[Figure], None]") -> str:
    """The element `svg` of a figure that is filled."""
    # matplotlib is slow to import, and few commands draw.
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=inches, dpi=72)
        fill(figure)
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
    return svg
