"""One line that says where something long stands, for as many columns as there are."""

import time
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

_MARKS = 60  # moments that are remembered to judge the speed by, a second apart at least
_SECONDS_TO_JUDGE = 1.0  # before the time left is told
_GRAPHIC, _SMALL_GRAPHIC = 20, 6  # columns
_MAIN = 2  # readings that are as important as the time left
_HUGE = 1e6  # beyond it decimals tell nothing
_EXACT = 10_000  # counts up to it keep their digits on a narrow terminal


class Reading(NamedTuple):
    """Something to show beside the count, and a shorter form of it for narrow terminals."""

    text: str
    brief: str


class ProgressLine:
    """Where something long stands: its count, readings such as a loss, and the time left."""

    def __init__(self, title: str, total: int, completed: int = 0, unit: str = "") -> None:
        """`total` is 0 as long as nobody knows it; `completed` was done before.

        As long as both are 0, nothing is counted but the seconds.

        With a `unit` the speed is shown, in units a second. Of the unit MB, bytes are counted.
        """
        self._title = title
        self._unit = unit
        self._total = total
        self._completed = completed
        self._readings: Sequence[Reading] = ()
        self._marks: deque[tuple[float, int]] = deque(maxlen=_MARKS)  # (time, completed)
        self._speed = 0.0  # a second; 0 as long as it is not known
        self._end: float | None = None  # by the monotonic clock
        self._begun = time.monotonic()

    def update(
        self,
        completed: int,
        readings: Sequence[Reading],
        total: int | None = None,
        *,
        timed: bool = True,
    ) -> None:
        """It stands at `completed` now; `readings` come in order of importance.

        The time before the first update is not judged: a first step takes longer than others. Where
        it is not `timed`, because something else is done meanwhile, no time left is shown.
        """
        now = time.monotonic()
        self._completed, self._readings = completed, readings
        self._total = self._total if total is None else total
        if not timed:
            self._end = None
            return
        begun, first = self._marks[0] if self._marks else (now, completed)
        if completed > first and now - begun >= _SECONDS_TO_JUDGE:
            self._speed = (completed - first) / (now - begun)
            self._end = now + (self._total - completed) / self._speed if self._total else None
        if not self._marks or now - self._marks[-1][0] >= _SECONDS_TO_JUDGE:
            self._marks.append((now, completed))

    def whole(self) -> str:
        """The line at its full length."""
        main, more = self._fields()
        return "  ".join(field.text for field in (*main, *more))

    def fitted(self, width: int) -> str:
        """The line in at most `width` columns.

        First goes what is nice to have, then the fields are shortened, and last the least
        important of them are left out: count, two readings and the time left, in this order.
        """
        forms = list(self._forms(width))
        return next((form for form in forms if columns_of(form) <= width), forms[-1][:width])

    def _forms(self, width: int) -> Iterator[str]:
        """The line in all its forms, the longest first."""
        main, more = self._fields()
        texts = [field.text for field in (*main, *more)]
        whole = "  ".join(texts[: len(main)])
        if self._total:
            for fields in range(len(texts), len(main), -1):
                yield self._graphic(_GRAPHIC) + "  ".join(texts[:fields])
            room = width - columns_of(whole) - columns_of(self._graphic(0))
            if room >= _SMALL_GRAPHIC:
                yield self._graphic(min(room, _GRAPHIC)) + whole
        yield whole
        brief = [field.brief for field in main]
        for fields in range(len(brief), 0, -1):
            yield " ".join(brief[:fields])
        yield f"{100 * self._completed // self._total}%" if self._total else ""

    def _graphic(self, columns: int) -> str:
        done = min(columns * self._completed // self._total, columns)
        return f"[{'#' * done}{'.' * (columns - done)}] "

    def _fields(self) -> tuple[list[Reading], list[Reading]]:
        """What is shown from 40 columns up, and what where there is room."""
        if not self._completed and not self._total:
            passed = duration(time.monotonic() - self._begun)
            return [Reading(self._title, self._title), Reading(passed, passed)], []
        both = [self._completed, self._total] if self._total else [self._completed]
        brief = "/".join(_brief(number, max(both)) for number in both)
        count = "/".join(map(_megabytes if self._unit == "MB" else str, both))
        main = [Reading(f"{self._title} {count}", brief), *self._readings[:_MAIN]]
        if self._unit and self._speed:
            speed = _megabytes(self._speed) if self._unit == "MB" else f"{self._speed:,.0f}"
            main.append(Reading(f"{speed} {self._unit}/s", f"{rounded(self._speed)}/s"))
        if self._end is not None:
            left = max(self._end - time.monotonic(), 0.0)
            main.append(Reading(f"{duration(left)} left", f"{_brief_duration(left)} left"))
        return main, [*self._readings[_MAIN:]]


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: two for each wide character of East Asia."""
    widths = ((unicodedata.combining(c) == 0) * (1 + (east_asian_width(c) in "WF")) for c in text)
    return sum(widths)


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


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.1f}"


def _brief(count: int, total: int) -> str:
    return str(count) if max(count, total) <= _EXACT else rounded(count)


def _brief_duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return duration(seconds) if seconds < 3600 else f"{minutes // 60}h{minutes % 60:02}"
