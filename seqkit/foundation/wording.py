"""Numbers, durations, counts and sizes as people read them."""

import unicodedata
from collections.abc import Sequence
from unicodedata import east_asian_width

_HUGE = 1e6  # beyond it decimals tell nothing


def byte_count(count: float) -> str:
    """A number of bytes as 7.1 kB, 512 MB, 3.2 GB or 48 TB."""
    amount, unit = count / 1e3, "kB"
    for larger in ("MB", "GB", "TB", "PB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: two for each wide character of East Asia."""
    widths = ((unicodedata.combining(c) == 0) * (1 + (east_asian_width(c) in "WF")) for c in text)
    return sum(widths)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with as many cells each as lines, every column as wide as its widest cell."""
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - columns_of(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def duration(seconds: float) -> str:
    """Seconds as 0:42, 3:07 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun, as 1 file or 3 files; a `plural` of its own as in 2 copies."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def rounded(number: float) -> str:
    """A number with three digits, such as 950, 21.5k or 1.23M."""
    for unit in ("", "k", "M", "G"):
        if number < 999.5 or unit == "G":
            break
        number /= 1000
    return f"{number:.3g}{unit}" if number < 999.5 else f"{number:.0f}{unit}"


def percent(share: float) -> str:
    """A share with two digits, as 0.92 %; of less than all, 99 % at most."""
    return f"{min(100 * share, 99):.2g} %" if share < 1 else "100 %"


def decimals(value: float, digits: int) -> str:
    """A number with so many decimals; one that is huge, as of a training that diverged, brief."""
    return f"{value:.{digits}f}" if abs(value) < _HUGE else f"{value:.{digits}g}"
