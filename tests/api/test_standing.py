"""Where a training stands badly, seqkit says so once, with the reason that its losses show."""

from pathlib import Path

from seqkit.api.standing import Standing, Words
from seqkit.runs.events import Finished
from seqkit.training.events import Trained, Validated

BASELINES = {"uniform_bits": 8.0, "histogram_bits": 5.0, "context_bits": 4.0, "flac_bits": 4.5}


def trained(loss: float) -> Trained:
    return Trained(1, 1, 1.0, loss, 1.0, 0.1, 0.1, 10)


def validated(loss: float, best: float) -> Validated:
    return Validated(1, 1.0, loss, loss / 0.6931, loss <= best, best)


def told(
    *events: Trained | Validated | Finished, rate: int = 8000, words: Words | None = None
) -> list[str]:
    notices: list[str] = []
    words = words or Words.of_sound(9.0, rate)
    standing = Standing(lambda: BASELINES, words, notices.append)
    for event in events:
        standing(event)
    return notices


def test_what_is_known_by_heart_is_told_when_the_loss_rises() -> None:
    rising = (trained(1.0), validated(4.0, 4.0), trained(0.5), validated(5.0, 4.0))
    (notice,) = told(*rising, validated(6.0, 4.0), Finished(2, 1.0, 4.0, Path("run")))
    assert "worse than a table of what follows any two samples" in notice
    assert "5.77 bits a sample, and 4.00. It knows its 0:09 of sound by heart (0.72" in notice
    assert told(*rising) == [notice]
    assert not told(*rising[:2])


def test_too_short_a_training_is_told_at_its_end() -> None:
    events = (trained(4.1), validated(4.0, 4.0), Finished(2, 1.0, 4.0, Path("run")))
    (notice,) = told(*events)
    assert notice.endswith("not learnt enough yet: give it more time (train.max_minutes)")
    (notice,) = told(*events, rate=44100)
    assert notice.endswith("(train.max_minutes) or a lower data.sample_rate")


def test_text_is_told_in_its_own_words() -> None:
    end = Finished(2, 1.0, 4.0, Path("run"))
    text = Words.of_text(12345, "character", by_the_clock=False)
    (notice,) = told(trained(1.0), validated(4.0, 4.0), end, words=text)
    assert "any two characters, which needs no training: 5.77 bits a character" in notice
    assert "It knows its 12,345 characters by heart (1.44 bits in training): give it more" in notice
    (notice,) = told(trained(4.1), validated(4.0, 4.0), end, words=text)
    assert notice.endswith("not learnt enough yet: give it more steps (train.max_steps)")


def test_a_model_that_is_worse_than_blind_guessing_is_said_to_be() -> None:
    text = Words.of_text(12345, "byte", by_the_clock=True)
    end = Finished(2, 1.0, 9.0, Path("run"))
    (notice,) = told(trained(8.0), validated(9.0, 9.0), end, words=text)
    assert "worse than blind guessing, which needs no training: 12.98 bits a byte, and 8" in notice
    assert notice.endswith("more time (train.max_minutes), or a smaller optimizer.lr")


def test_a_model_that_beats_them_all_is_not_told_anything() -> None:
    good = (trained(0.1), validated(2.0, 2.0), validated(6.0, 2.0))
    assert not told(*good, Finished(2, 1.0, 2.0, Path("run")))


def test_baselines_are_computed_at_the_first_validation_and_their_failure_is_told_once() -> None:
    notices: list[str] = []

    def failing() -> dict[str, float]:
        raise MemoryError("no room")

    standing = Standing(failing, Words.of_sound(9.0, 8000), notices.append)
    standing(trained(4.0))
    assert not notices
    for event in (validated(4.0, 4.0), validated(5.0, 4.0), Finished(2, 1.0, 4.0, Path("run"))):
        standing(event)
    assert notices == ["nothing to compare the model with: no room"]


def test_a_constant_validation_part_is_told_and_nothing_is_judged_by_it() -> None:
    notices: list[str] = []
    silent = {"uniform_bits": 8.0, "histogram_bits": 0.0, "context_bits": 0.001}
    standing = Standing(lambda: silent, Words.of_sound(9.0, 8000), notices.append)
    for event in (trained(4.0), validated(0.2, 0.2), Finished(2, 1.0, 0.2, Path("run"))):
        standing(event)
    (notice,) = notices
    assert "nearly constant, as silence is" in notice
