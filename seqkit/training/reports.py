"""How often a training reports: every ten steps, among very many processes less often."""

import math

from seqkit.foundation.ranks import Ranks

_FEW = 8  # processes, as one machine has them: what they ask each other is answered at once
_EVERY = 10  # steps; reading a loss back makes a GPU wait
_MEASURED = 3  # reports after which the time of a step is known
_QUESTIONS = 2  # of the processes to each other, at each report
_SHARE = 0.02  # of the time that these may take
_LONGEST = 2.0  # seconds from one report to the next: a stop waits for it


class ReportPace:
    """After how many steps a training reports; all processes have the same.

    At a report they ask each other whether their devices are done, and whether to stop. The time
    of such a question grows with their number, that of a step does not.
    """

    def __init__(self, ranks: Ranks) -> None:
        """`ranks` are the processes that train together."""
        self.every = _EVERY
        """Steps from one report to the next."""
        self._ranks = ranks
        self._reports = 0
        self._last = (0, 0.0)

    @property
    def measured(self) -> bool:
        """Whether there were reports enough to know the time of a step."""
        return self._reports >= _MEASURED

    def reported(self, step: int, seconds: float) -> None:
        """The training has reported at a step, after so many seconds. All processes tell it."""
        steps, took = step - self._last[0], seconds - self._last[1]
        self._last = (step, seconds)
        self._reports += 1
        if self._reports == _MEASURED and self._ranks.place.size > _FEW:
            question = self._ranks.question_time()
            self.every = self._ranks.shared(lambda: _steps(question, took / max(steps, 1)))


def _steps(question: float, step: float) -> int:
    """How many steps, a multiple of ten, from the seconds of a question and of a step."""
    wanted = min(_QUESTIONS * question / _SHARE, _LONGEST)
    return _EVERY * max(1, math.ceil(wanted / max(_EVERY * step, 1e-9)))
