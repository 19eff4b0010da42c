"""Where a training stands badly, seqkit says so once, with the reason that its losses show."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from seqkit.api.baseline_warning import Standing, Words
from seqkit.runs.events import Finished
from seqkit.runs.folder import RunFolder, make_numbered
from seqkit.runs.observers import Metrics, Observer
from seqkit.training.events import Trained, Validated

BASELINES = {"uniform_bits": 8.0, "histogram_bits": 5.0, "context_bits": 4.0, "flac_bits": 4.5}


def trained(loss: float) -> Trained:
    return Trained(1, 1, 1.0, loss, 1.0, 0.1, 0.1, 10)


def validated(loss: float, best: float) -> Validated:
    return Validated(1, 1.0, loss, loss / 0.6931, loss <= best, best)


class Told:
    """Writes a run's folder as a training does, and keeps what is told of it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(
        self,
        *events: Trained | Validated | Finished,
        rate: int = 8000,
        words: Words | None = None,
        baselines: Callable[[], dict[str, float]] = lambda: BASELINES,
        length: float = 0.5,
    ) -> list[str]:
        """The notices after these events; the training part has so many symbols."""
        run = RunFolder(make_numbered(self.path))
        with run.claimed():
            run.make()
            about = {"kind": "audio", "training_symbols": length}
            run.write_about({"data": about, "baselines": BASELINES})
            notices: list[str] = []
            words = words or Words.of_sound(9.0, rate)
            followers: list[Observer] = [
                Metrics(run),
                Standing(baselines, words, notices.append, run.path),
            ]
            for event in events:
                for follow in followers:
                    follow(event)
        return notices


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path / "run")


def test_what_is_known_by_heart_is_told_when_the_loss_rises(told: Told) -> None:
    rising = (trained(1.0), validated(4.0, 4.0), trained(0.5), validated(5.0, 4.0))
    (notice,) = told(*rising, validated(6.0, 4.0), Finished(2, 1.0, 4.0, Path("run")))
    assert "worse than a table of what follows any two samples" in notice
    assert "5.77 bits a sample, and 4.00. It knows its 0:09 of sound by heart (0.72" in notice
    assert told(*rising) == [notice]
    assert not told(*rising[:2])


def test_nothing_is_known_by_heart_that_was_not_met_twice(told: Told) -> None:
    text = Words.of_text(103_945_824, "character", by_the_clock=False)
    end = Finished(2, 1.0, 4.0, Path("run"))
    rising = (trained(1.0), validated(4.0, 4.0), trained(0.5), validated(5.0, 4.0))
    assert not told(*rising, words=text, length=100)
    for events in (rising, (trained(1.0), validated(4.0, 4.0))):
        (notice,) = told(*events, end, words=text, length=100)
        assert notice.endswith("not learnt enough yet: give it more steps (train.max_steps)")
        assert "by heart" in told(*events, end, words=text)[0]


@pytest.mark.parametrize(
    ("losses", "validations", "reason"),
    [
        ([4.0, 3.5] + [3.4] * 30, [5.0, 4.0, 3.99], "does much better in training (4.91 bits)"),
        ([4.0] * 40, [4.01, 4.0, 4.0], "levelled off without learning: try a smaller optimizer.lr"),
        ([3.2] * 40, [3.21, 3.2, 3.2], "It has levelled off: try a larger network"),
        ([3.2] * 20 + [9.0] * 20, [3.1, 3.1, 8.0], "The loss jumped up: try a smaller"),
    ],
)
def test_the_reason_is_that_of_the_page(
    losses: list[float], validations: list[float], reason: str, told: Told
) -> None:
    events: list[Trained | Validated | Finished] = []
    for step, loss in enumerate(losses, 1):
        events.append(dataclasses.replace(trained(loss), step=step))
    best, each = math.inf, len(losses) // len(validations)
    for number, loss in enumerate(validations, 1):
        best = min(best, loss)
        at = number * each
        place = events.index(next(event for event in events if event.step == at)) + 1
        events.insert(place, dataclasses.replace(validated(loss, best), step=at))
    (notice,) = told(*events, Finished(len(losses), 1.0, best, Path("run")))
    assert reason in notice


def test_too_short_a_training_is_told_at_its_end(told: Told) -> None:
    events = (trained(4.1), validated(4.0, 4.0), Finished(2, 1.0, 4.0, Path("run")))
    (notice,) = told(*events)
    assert notice.endswith("not learnt enough yet: give it more time (train.max_minutes)")
    (notice,) = told(*events, rate=44100)
    assert notice.endswith("(train.max_minutes) or a lower data.sample_rate")


def test_text_is_told_in_its_own_words(told: Told) -> None:
    end = Finished(2, 1.0, 4.0, Path("run"))
    text = Words.of_text(12345, "character", by_the_clock=False)
    (notice,) = told(trained(1.0), validated(4.0, 4.0), end, words=text)
    assert "any two characters, which needs no training: 5.77 bits a character" in notice
    assert "It knows its 12,345 characters by heart (1.44 bits in training): give it more" in notice
    (notice,) = told(trained(4.1), validated(4.0, 4.0), end, words=text)
    assert notice.endswith("not learnt enough yet: give it more steps (train.max_steps)")


def test_a_model_that_is_worse_than_blind_guessing_is_said_to_be(told: Told) -> None:
    text = Words.of_text(12345, "byte", by_the_clock=True, by_steps=False)
    end = Finished(2, 1.0, 9.0, Path("run"))
    (notice,) = told(trained(8.0), validated(9.0, 9.0), end, words=text)
    assert "worse than blind guessing, which needs no training: 12.98 bits a byte, and 8" in notice
    assert notice.endswith("more time (train.max_minutes), or a smaller optimizer.lr")


def test_a_model_that_beats_them_all_is_not_told_anything(told: Told) -> None:
    good = (trained(0.1), validated(2.0, 2.0), validated(6.0, 2.0))
    assert not told(*good, Finished(2, 1.0, 2.0, Path("run")))


def test_baselines_are_computed_at_the_first_validation_and_their_failure_is_told_once(
    told: Told,
) -> None:
    def failing() -> dict[str, float]:
        raise MemoryError("no room")

    assert not told(trained(4.0), baselines=failing)
    events = (validated(4.0, 4.0), validated(5.0, 4.0), Finished(2, 1.0, 4.0, Path("run")))
    notices = told(trained(4.0), *events, baselines=failing)
    assert notices == ["nothing to compare the model with: no room"]


def test_a_constant_validation_part_is_told_and_nothing_is_judged_by_it(told: Told) -> None:
    silent = {"uniform_bits": 8.0, "histogram_bits": 0.0, "context_bits": 0.001}
    events = (trained(4.0), validated(0.2, 0.2), Finished(2, 1.0, 0.2, Path("run")))
    (notice,) = told(*events, baselines=lambda: silent)
    assert "nearly constant, as silence is" in notice
