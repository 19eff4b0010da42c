"""The curves of a page: what is written beside them can be read whole."""

import re

import numpy as np
import pytest

from seqkit.report import charts
from seqkit.report.charts import thinned
from seqkit.runs.record import Curve

_WIDEST = 0.64  # of a digit, as a share of the size of the letters


@pytest.mark.parametrize("values", [(2e-5, 9e-4), (8e3, 9e6)])
@pytest.mark.parametrize("logarithmic", [True, False])
def test_no_label_is_cut_off(values: tuple[float, float], logarithmic: bool) -> None:
    curve = Curve(np.arange(1.0, 101.0), np.geomspace(*values, 100))
    svg = charts.quantity("norm", curve, logarithmic=logarithmic)
    found = re.findall(r'<text style="([^"]*)" x="([\d.]+)"[^>]*>([^<]*)</text>', svg)
    ends = [(text, style, float(x)) for style, x, text in found if "text-anchor: end" in style]
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
