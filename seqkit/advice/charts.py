"""Curves as pictures: SVG that stands inside a page and takes its colours, or a file of its own.

A page's are written here, in a hundredth of a second; matplotlib, which takes a good part of one to
import, draws the files.
"""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape

from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.wording import rounded, visible_line
from seqkit.runs.record import Curve, Record
from seqkit.symbols import Floats

_POINTS = 240  # of a curve, which is about 400 pixels wide
_HEADROOM = 1.05
_MARGIN = 0.03  # before the first step and after the last, as a share of the axis
_APART = 65  # from one number of an axis to the next, at least
_NAME_HEIGHT = 12  # from one name of a line to the next
_FORMATS = (".svg", ".png", ".pdf")
_PANELS = ("steps", "seconds of training")
# What the page says these are, in light and in dark.
_INK, _GRID, _TRAIN, _VALIDATION, _BASELINE = (
    f"var(--{name})" for name in ("ink", "grid", "train", "validation", "baseline")
)


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


def loss_chart(train: Curve, validation: Curve, lines: Mapping[str, float]) -> Markup:
    """The loss of training and validation, and baselines as lines: nats a symbol, by name."""
    seen = np.concatenate([train.values, validation.values])
    # A loss that explodes must not flatten the rest.
    highest = min(float(seen.max()), 1.5 * max([*lines.values(), seen[0]]))
    below = {name: value for name, value in lines.items() if value <= highest}
    lowest = min([float(seen.min()), *below.values()])
    room = max(highest - lowest, 1e-3) * (_HEADROOM - 1)
    steps = np.concatenate([train.steps, validation.steps])
    panel = _Panel(steps, (lowest - room, highest + 2 * room))
    panel.curve(train)
    steps, means, *_ = thinned(validation)
    panel.line(steps, means, _VALIDATION, dots=True)
    panel.name_lines(below)
    return panel.picture("step")


def curve_chart(curve: Curve, *, logarithmic: bool = False) -> Markup:
    """Another curve of the training."""
    positive = curve.values > 0
    if logarithmic := logarithmic and bool(positive.any()):
        curve = Curve(curve.steps[positive], curve.values[positive])
        ends = float(curve.values.min()) / _HEADROOM, float(curve.values.max()) * _HEADROOM
    else:
        ends = 0.0, max(float(curve.values.max()), 1e-12) * _HEADROOM
    panel = _Panel(curve.steps, ends, logarithmic=logarithmic)
    panel.curve(curve)
    return panel.picture("step")


def under_waveform(low: Floats, high: Floats, curve: Curve) -> Markup:
    """A quantity by time under a wave's lowest and highest samples (N,) at the curve's seconds."""
    box = 40, 130, 712, 226
    seconds, values = curve
    wave = _Panel(seconds, (float(low.min()), float(high.max())), (40, 5, 712, 120))
    wave.band(seconds, low, high, _TRAIN)
    panel = _Panel(seconds, (min(float(values.min()), 0.0), float(values.max()) * _HEADROOM), box)
    panel.line(seconds, values, _VALIDATION)
    return panel.picture("seconds", wave)


class _Panel:
    """Axes, and what is drawn between them; what is higher lies on the upper edge.

    Places are in a unit of which a chart has 360 across, and letters are ten high.
    """

    def __init__(
        self,
        steps: Floats,
        ends: tuple[float, float],
        box: tuple[float, float, float, float] = (58, 8, 355, 178),
        *,
        logarithmic: bool = False,
    ) -> None:
        """The `steps` go from left to right, values between `ends` from the bottom to the top."""
        first, last = float(steps.min()), float(steps.max())
        margin = (last - first) * _MARGIN or 0.5
        self._across = first - margin, last + margin
        self._ends, self._box, self._logarithmic = ends, box, logarithmic
        self._drawn: list[str] = []
        self._words: list[str] = []

    def _x(self, steps: Floats | float) -> Floats:
        return np.asarray(np.interp(steps, self._across, self._box[::2]))

    def _y(self, values: Floats | float) -> Floats:
        scale = np.log if self._logarithmic else np.asarray
        return np.asarray(np.interp(scale(values), scale(self._ends), self._box[:0:-2]))

    def _points(self, steps: Floats, values: Floats) -> str:
        places = zip(self._x(steps).tolist(), self._y(values).tolist(), strict=True)
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)

    def line(self, steps: Floats, values: Floats, colour: str, *, dots: bool = False) -> None:
        """Draw a line through points (n,), and the points if there is one alone, or with `dots`."""
        points, style = self._points(steps, values), f"fill:none;stroke:{colour};stroke-width:1.4"
        self._drawn.append(f'<polyline style="{style}" points="{points}"/>')
        for x, y in (point.split(",") for point in points.split() if dots or len(steps) == 1):
            self._drawn.append(f'<circle style="fill:{colour}" cx="{x}" cy="{y}" r="2"/>')

    def band(self, steps: Floats, low: Floats, high: Floats, colour: str, share: float = 1) -> None:
        """Fill what lies between two lines; `share` of it hides what is below."""
        edge = self._points(np.append(steps, steps[::-1]), np.append(low, high[::-1]))
        self._drawn.append(f'<polygon style="fill:{colour};opacity:{share}" points="{edge}"/>')

    def curve(self, curve: Curve) -> None:
        """Draw a curve of the training, and behind it how far its values lie apart."""
        points = thinned(curve)
        self.band(points.steps, points.low, points.high, _TRAIN, 0.2)
        self.line(points.steps, points.mean, _TRAIN)

    def name_lines(self, lines: Mapping[str, float]) -> None:
        """Draw lines across, each named at its right end, the names clear of each other."""
        left, _, right, lowest = self._box
        for name, value in sorted(lines.items(), key=lambda item: item[1]):
            y = float(self._y(value))
            style = f"stroke:{_BASELINE};stroke-dasharray:4 3"
            self._drawn.append(f'<path style="{style}" d="M{left} {y:.1f}H{right}"/>')
            lowest = min(y - 2, lowest - _NAME_HEIGHT)
            self._word(right, lowest, name, "end", _BASELINE)

    def _word(self, x: float, y: float, word: str, anchor: str, colour: str = _INK) -> None:
        style = f"fill:{colour};font-size:9.5px;text-anchor:{anchor}"
        self._words.append(f'<text style="{style}" x="{x:.1f}" y="{y:.1f}">{escape(word)}</text>')

    def picture(self, unit: str, *above: "_Panel") -> Markup:
        """The whole picture, with its axes; `unit` is what goes from left to right."""
        left, _, right, bottom = self._box
        grid = ""
        for value, word in _ticks(*self._ends, 8, logarithmic=self._logarithmic):
            y = float(self._y(value))
            grid += f"M{left} {y:.1f}H{right}"
            self._word(left - 4, y + 3.5, word, "end")
        count = round((right - left) / _APART)
        for value, word in _ticks(*self._across, count, whole=unit == "step"):
            self._word(float(self._x(value)), bottom + 13, word, "middle")
        self._word((left + right) / 2, bottom + 27, unit, "middle")
        style = f"fill:none;stroke:{_GRID};stroke-width:0.6"
        grid = f'<path style="{style}" d="{grid}M{left} {self._box[1]}V{bottom}H{right}"/>'
        drawn = [grid, *(part for panel in above for part in panel._drawn)]
        drawn += self._drawn + self._words
        size = f"0 0 {right + 5} {bottom + 32}"
        return Markup(f'<svg viewBox="{size}" role="img">{"".join(drawn)}</svg>')


def _ticks(
    low: float, high: float, count: int, *, whole: bool = False, logarithmic: bool = False
) -> list[tuple[float, str]]:
    """At most about so many round numbers from low to high, and how they are written."""
    if logarithmic and high > 10 * low:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
        ticks = [f * 10.0**n for n in powers for f in (1, 2, 5) if low <= f * 10.0**n <= high]
        if len(ticks) > count:
            ticks = [10.0**n for n in powers if low <= 10.0**n]
        return [(value, rounded(value)) for value in ticks[:: math.ceil(len(ticks) / count)]]
    rough = max((high - low) / count, 1.0 if whole else 1e-12)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= rough)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    values = [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
    plain = high < 1000 and digits < 5
    return [(value, f"{value:.{digits}f}" if plain else rounded(value)) for value in values]


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
                metrics = record.metrics
                panel.plot(*_points(record, metrics.train["loss"], unit), **look, alpha=0.25)
                validation = _points(record, metrics.validation, unit)
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
