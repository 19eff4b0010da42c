"""One line that says where something long stands, for as many columns as there are."""

import time
from collections import deque
from collections.abc import Iterator, Sequence

from seqkit.foundation.wording import columns_of, duration

_MARKS = 60  # moments that are remembered to judge the speed by, a second apart at least
_SECONDS_TO_JUDGE = 1.0  # before the time left is told
_GRAPHIC = 20  # columns
_MAIN = 2  # readings that are as important as the time left


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
        self._readings: Sequence[str] = ()
        self._marks: deque[tuple[float, int]] = deque(maxlen=_MARKS)  # (time, completed)
        self._speed = 0.0  # a second; 0 as long as it is not known
        self._end: float | None = None  # by the monotonic clock
        self._begun = time.monotonic()

    def update(
        self,
        completed: int,
        readings: Sequence[str],
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
        return "  ".join(self._fields())

    def fitted(self, width: int) -> str:
        """The line in at most `width` columns: what comes last is left out first."""
        fits = (form for form in self._forms() if columns_of(form) <= width)
        return next(fits, self._count()[:width])

    def _forms(self) -> Iterator[str]:
        """The line in all its forms, the longest first."""
        fields = self._fields()
        more = max(0, len(self._readings) - _MAIN)
        if self._total:
            done = min(_GRAPHIC * self._completed // self._total, _GRAPHIC)
            graphic = f"[{'#' * done}{'.' * (_GRAPHIC - done)}] "
            for left_out in range(more + 1):
                yield graphic + "  ".join(fields[: len(fields) - left_out])
        for count in range(len(fields) - more, 0, -1):
            yield "  ".join(fields[:count])

    def _fields(self) -> list[str]:
        if not self._completed and not self._total:
            return [f"{self._title}  {duration(time.monotonic() - self._begun)}"]
        fields = [f"{self._title} {self._count()}", *self._readings[:_MAIN]]
        if self._unit and self._speed:
            fields.append(f"{self._amount(self._speed)} {self._unit}/s")
        if self._end is not None:
            fields.append(f"{duration(max(self._end - time.monotonic(), 0.0))} left")
        return [*fields, *self._readings[_MAIN:]]

    def _count(self) -> str:
        both = [self._completed, self._total] if self._total else [self._completed]
        return "/".join(self._amount(n) if self._unit == "MB" else str(n) for n in both)

    def _amount(self, number: float) -> str:
        return f"{number / 1e6:,.1f}" if self._unit == "MB" else f"{number:,.0f}"
