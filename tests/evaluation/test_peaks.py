"""The highest values, each away from the others, whatever the stretches they come in."""

import numpy as np
import pytest

from seqkit.evaluation.peaks import Peaks


@pytest.mark.parametrize("length", [1, 7, 100, 1000])
def test_the_highest_are_kept_in_order_and_apart(length: int) -> None:
    values = np.random.default_rng(1).permutation(1000).astype(np.float32)
    values[501] = 2000
    values[502] = 1999  # next to the highest
    peaks, asked = Peaks[str](5, 10), list[int]()

    def keep(place: int) -> str:
        asked.append(place)
        return f"at {place}"

    for begin in range(0, 1000, length):
        peaks.add(begin, values[begin : begin + length], keep)
    found = peaks.highest
    assert [peak.value for peak in found] == sorted((p.value for p in found), reverse=True)
    assert found[0].place == 501
    places = sorted(peak.place for peak in found)
    assert len(places) == 5
    assert min(np.diff(places)) >= 10
    assert all(peak.kept == f"at {peak.place}" for peak in found)
    assert min(peak.value for peak in found) > 900
    assert len(asked) <= 5 * -(-1000 // length)


def test_values_may_be_means_of_several_places() -> None:
    peaks = Peaks[int](2, 100)
    peaks.add(50, np.array([1.0, 3.0, 2.0]), lambda place: place, spacing=50)
    assert [(peak.place, peak.value) for peak in peaks.highest] == [(100, 3.0)]
