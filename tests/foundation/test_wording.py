"""Numbers, durations, counts and sizes are read at a glance."""

import pytest

from seqkit.foundation.wording import byte_count, columns_of, counted, duration, percent, rounded


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.2, "0:00"), (62, "1:02"), (3599.6, "1:00:00"), (7325, "2:02:05")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (7, "7"), (999, "999"), (999.6, "1k"), (21_543, "21.5k"), (999_900, "1M")],
)
def test_rounded_numbers(number: float, shown: str) -> None:
    assert rounded(number) == shown


def test_wide_characters_take_two_columns() -> None:
    assert [columns_of(text) for text in ("", "text", "\u65e5\u672c", "e\u0301")] == [0, 4, 4, 1]


def test_a_count_has_the_noun_that_fits() -> None:
    assert [counted(n, "file") for n in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
    assert [counted(n, "copy", "copies") for n in (1, 2)] == ["1 copy", "2 copies"]


def test_less_than_all_is_never_a_hundred_per_cent() -> None:
    shares = (0.00092, 0.128, 0.98, 0.996, 0.99999, 1.0)
    shown = ["0.092 %", "13 %", "98 %", "99 %", "99 %", "100 %"]
    assert [percent(share) for share in shares] == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(600, "0.6 kB"), (51_200, "51 kB"), (3.21e9, "3.2 GB"), (48e12, "48 TB")]
)
def test_sizes(count: float, shown: str) -> None:
    assert byte_count(count) == shown
