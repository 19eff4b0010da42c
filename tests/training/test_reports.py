"""Reports come every ten steps, and less often where they would cost too much."""

import pytest

from seqkit.foundation.processes import Place
from seqkit.foundation.ranks import Ranks
from seqkit.training.reports import ReportPace


class Slow(Ranks):
    """Many processes, of which one question takes so many seconds."""

    def __init__(self, question: float, size: int = 512) -> None:
        super().__init__(Place(0, size, 0, 8))
        self._question = question

    def question_time(self) -> float:
        return self._question

    def shared(self, make):  # type: ignore[no-untyped-def]
        return make()


@pytest.mark.parametrize(
    ("question", "step", "every"),
    [
        (0.0003, 0.006, 10),
        (0.002, 0.006, 40),  # 2 questions of 2 ms in 240 ms
        (0.020, 0.0014, 1430),
        (0.500, 0.010, 200),  # a stop comes within two seconds all the same
        (0.500, 10.0, 10),
    ],
)
def test_questions_take_a_small_share_of_the_time(question: float, step: float, every: int) -> None:
    pace = ReportPace(Slow(question))
    for number in range(5):
        pace.reported(10 * number, 10 * number * step)
    assert pace.every == every


@pytest.mark.parametrize("size", [1, 8])
def test_the_processes_of_a_machine_report_every_ten_steps(size: int) -> None:
    pace = ReportPace(Slow(0.02, size))
    for number in range(5):
        pace.reported(10 * number, number * 1e-3)
    assert pace.every == 10
