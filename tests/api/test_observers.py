"""What is said of a training whose minutes do not suffice."""

from types import SimpleNamespace
from typing import Any

from seqkit.api.observers import Forecast
from seqkit.training.events import Trained


def test_minutes_that_are_too_few_are_told_once() -> None:
    def told(minutes: float, total_steps: int, enough: float | None = 6e6) -> list[str]:
        train = SimpleNamespace(max_minutes=minutes, max_steps=None)
        training: Any = SimpleNamespace(config=SimpleNamespace(train=train), enough=enough)
        said: list[str] = []
        forecast = Forecast(training, said.append)
        for step in (1, 100, 200):
            forecast(Trained(step, 1000 * step, 1.0, 2.0, 1e3, 0.01, 1.0, total_steps))
        return said

    assert told(8, 12_000) == told(1, 3000, enough=None) == []
    assert told(1, 3000) == [
        "in 1 minute this machine will read about 3 million symbols; what it makes may not sound "
        "like the recording before it has read 6 million: give train.max_minutes=2 or more"
    ]
    assert told(1.5, 3000)[0].startswith("in 1.5 minutes this machine ")
