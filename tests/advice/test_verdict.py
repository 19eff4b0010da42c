"""The first sentences of a page are true of the curves."""

import json
import shutil

import numpy as np
import pytest

from seqkit.advice.verdict import judge
from seqkit.config import Config
from seqkit.foundation.run_folders import RunFiles
from seqkit.runs.record import State, read
from tests.advice.conftest import Leave, keep

DOWN = list(np.linspace(3.0, 1.5, 100))
FLAT = [*np.linspace(3.0, 1.5, 50), *[1.5] * 50]


@pytest.mark.parametrize(
    ("train", "validation", "finding", "advice"),
    [
        (DOWN, [2.6, 2.2, 1.8, 1.5], "It learned. At step 1,000", "still falling at the end"),
        (
            FLAT,
            [2.2, 1.56, 1.55, 1.552],
            "xz 3.00: fewer are better",
            "model.hidden_size=128",
        ),
        (FLAT, [2.2, 1.86, 1.85, 1.852], "It learned", "model.dropout=0.2"),
        (DOWN, [2.2, 1.7, 1.9, 2.1], "At step 500", "It got worse after step 500, which is kept"),
        ([*DOWN, *[4.0] * 30], [2.2, 1.7, 3.9], "It learned", "try a smaller optimizer.lr"),
        ([3.4] * 100, [3.4, 3.4, 3.4, 3.4], "It has not learned", "smaller optimizer.lr"),
        ([3.4, 3.3], [3.35], "It has not learned", "too short"),
        (DOWN, [1.6, 0.0024, 0.0026], "It learned", "levelled off"),  # easier than the rest
        (FLAT, [4.709, 4.261], "It has not learned", "still falling"),
        (DOWN, [], "Without a validation so far, the training loss went", "still falling"),
        ([], [], "Nothing is measured yet", "too short"),
    ],
)
def test_a_finished_run(
    train: list[float], validation: list[float], finding: str, advice: str, leave: Leave
) -> None:
    verdict = judge(read(leave(train, validation)))
    assert finding in verdict.finding
    assert advice in verdict.advice


def test_few_steps_tell_nothing_though_they_lie_flat(leave: Leave) -> None:
    run = leave([2.2, *[1.55] * 20], [1.552, 1.55, 1.55], steps=71)
    config = Config(recipe="shakespeare")
    config.optimizer.warmup_steps = 0
    keep(run, config)
    assert "too short to tell more" in judge(read(run)).advice


def test_a_loss_above_that_of_any_guess_asks_for_a_smaller_learning_rate(leave: Leave) -> None:
    run = leave([9.0, 4574.0], [4574.0], data={"kind": "text", "vocabulary": 65})
    config = Config(recipe="shakespeare")
    config.optimizer.lr = 100
    keep(run, config)
    assert "optimizer.lr, such as 0.01 in place of 100" in judge(read(run)).advice


@pytest.mark.parametrize(
    ("validation", "seldom"),
    [([2.0, 2.7], "levelled off: more"), ([2.0, 1.9, 2.7], "levelled off: more"), ([2.7], "level")],
)
def test_only_what_was_met_twice_is_known_by_heart(
    validation: list[float], seldom: str, leave: Leave
) -> None:
    train = [2.0, *[1.5] * 50, *[1.49] * 50]
    for length, advice in ((2_000, "its training data"), (1_000_000, seldom)):
        run = leave(train, validation, data={"kind": "text", "training_symbols": length})
        assert advice in judge(read(run)).advice
        shutil.rmtree(run)


@pytest.mark.parametrize(
    ("about", "finding", "advice"),
    [
        ({}, "It learned", "A larger network may bring more"),
        (
            {"data": {"kind": "text", "training_symbols": 50_000}, "parameters": 90_000},
            *("It learned", "Give more text"),
        ),
    ],
)
def test_what_the_losses_do_not_tell(
    about: dict[str, object], finding: str, advice: str, leave: Leave
) -> None:
    verdict = judge(read(leave([2.2, *[1.55] * 60], [1.6, 1.552, 1.55, 1.55], **about)))
    assert verdict.finding.startswith(finding)
    assert advice in verdict.advice
    assert verdict.command == ""


@pytest.mark.parametrize(
    ("state", "finding", "advice", "command"),
    [
        ("stopped", "It learned", "It was stopped after step 1,000 of 1,000", "resume=auto"),
        ("diverged", "diverged at step 120", "0.0033 in place of 0.01", ""),
        ("running", "It learned", "at step 1,000 of 1,000", ""),
    ],
)
def test_a_run_that_is_not_finished(
    state: State, finding: str, advice: str, command: str, leave: Leave
) -> None:
    ended = {"how": state, "step": 120}
    run = leave(DOWN, [2.0, 1.9], finished=False, ended=ended)
    verdict = judge(read(run, "running" if state == "running" else None))
    assert finding in verdict.finding
    assert advice in verdict.advice
    assert command in verdict.command


def test_a_loss_of_training_data_met_often_is_not_believed(leave: Leave) -> None:
    run = leave(DOWN, [], data={"kind": "audio", "training_symbols": 100})
    assert "known by heart" in judge(read(run)).advice


@pytest.mark.parametrize(("epochs", "given"), [(400, False), (3, True)])
def test_whole_minutes_are_advised_and_epochs_that_would_end_them(
    epochs: int, given: bool, leave: Leave
) -> None:
    run = leave(DOWN, [], epoch_steps=500)  # read twice
    config = Config(recipe="shakespeare")
    config.train.max_steps, config.train.max_minutes, config.train.max_epochs = None, 6.3, epochs
    keep(run, config)
    command = judge(read(run)).command
    assert command.split("train.max_minutes=")[1].split()[0] == "13"
    assert (f"train.max_epochs={2 * epochs}" in command) == given


def test_the_verdict_on_the_closing_sample_is_said_again(leave: Leave) -> None:
    run = leave(DOWN, [2.6, 2.2, 1.8, 1.5], likeness={"is_like": False, "heard": "hisses (…)"})
    finding = judge(read(run)).finding
    assert finding.startswith("It predicts better than guessing. ")
    assert finding.endswith(" Its last sample hisses (…).")
    about = RunFiles(run).about
    for damaged in (3, {"heard": 3}, {}, "", None):
        about.write_text(json.dumps({**json.loads(about.read_text()), "likeness": damaged}))
        assert "last sample" not in judge(read(run)).finding
