"""The curves of a page: what is written beside them can be read whole."""

import re

import numpy as np
import pytest

from seqkit.advice import charts
from seqkit.advice.charts import thinned
from seqkit.runs.record import Curve

_WIDEST = 0.64  # of a digit, as a share of the size of the letters


@pytest.mark.parametrize("values", [(2e-5, 9e-4), (8e3, 9e6)])
@pytest.mark.parametrize("logarithmic", [True, False])
def test_no_label_is_cut_off(values: tuple[float, float], logarithmic: bool) -> None:
    curve = Curve(np.arange(1.0, 101.0), np.geomspace(*values, 100))
    svg = charts.curve_chart(curve, logarithmic=logarithmic)
    found = re.findall(r'<text style="([^"]*)" x="([\d.]+)"[^>]*>([^<]*)</text>', svg)
    ends = [(text, style, float(x)) for style, x, text in found if "text-anchor:end" in style]
    assert ends
    for text, style, x in ends:
        size = re.search(r"([\d.]+)px", style)
        assert size
        assert len(text) * _WIDEST * float(size[1]) <= x, text


def test_a_long_curve_is_thinned_and_keeps_its_extremes() -> None:
    values = np.sin(np.arange(100_000) / 1000)
    values[54_321] = 50
    found = thinned(Curve(np.arange(100_000.0), values), 200)
    assert len(found.steps) == 200
    assert found.high.max() == 50
    assert np.abs(found.mean).max() < 2
    assert (np.diff(found.steps) > 0).all()
    few = Curve(np.arange(3.0), np.arange(3.0))
    assert thinned(few, 200).mean.tolist() == [0, 1, 2]


def places(svg: str, kind: str) -> list[tuple[float, float]]:
    """The points of the first element of a kind."""
    found = re.search(rf'<{kind} [^>]*points="([^"]*)"', svg)
    assert found
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in found[1].split())]


def test_a_curve_lies_where_its_numbers_say() -> None:
    """What is twice as high lies twice as far above zero, and steps are evenly spread."""
    steps = np.array([10.0, 20.0, 40.0])
    svg = charts.curve_chart(Curve(steps, np.array([1.0, 2.0, 4.0])))
    (x1, y1), (x2, y2), (x3, y3) = places(svg, "polyline")
    assert (x3 - x2) == pytest.approx(2 * (x2 - x1), abs=0.2)
    assert (y2 - y3) == pytest.approx(2 * (y1 - y2), abs=0.2)
    numbers = re.findall(r'y="([\d.]+)">([\d.]+)</text>', svg)
    heights = {float(word): float(y) for y, word in numbers}
    assert heights[4.0] - 3.5 == pytest.approx(y3, abs=0.2)
    svg = charts.curve_chart(Curve(steps, np.array([1.0, 10.0, 100.0])), logarithmic=True)
    (_, y1), (_, y2), (_, y3) = places(svg, "polyline")
    assert (y1 - y2) == pytest.approx(y2 - y3, abs=0.2)


def test_a_loss_that_explodes_lies_on_the_upper_edge() -> None:
    train = Curve(np.arange(1.0, 7), np.array([4.0, 3.0, 2.0, 900.0, 2.5, 2.0]))
    svg = charts.loss_chart(train, Curve(np.array([6.0]), np.array([2.2])), {"<by frequency>": 3.3})
    ys = [y for _, y in places(svg, "polyline")]
    assert ys[3] == 8 < min(ys[:3] + ys[4:]) < 100
    assert "&lt;by frequency&gt;" in svg


def test_a_norm_that_is_always_zero_is_drawn() -> None:
    svg = charts.curve_chart(Curve(np.arange(6.0), np.zeros(6)), logarithmic=True)
    assert len({y for _, y in places(svg, "polyline")}) == 1
