"""The page follows a training and costs a hundredth of its time."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqkit.config import Config
from seqkit.report.observer import Report, Warnings
from seqkit.runs.events import Diverged, Event, Finished, Started, Stopped
from seqkit.runs.folder import RunFolder
from seqkit.training.events import Stepped, Validated
from tests.conftest import fill_disk
from tests.report.conftest import Leave

VALIDATED = Validated(1000, 1.0, 2.2, 2.2 / 0.6931, improved=False, best_loss=1.7)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    folder = RunFolder(tmp_path / "run")
    with folder.claimed():
        folder.make()
        folder.files.checkpoint("last").parent.mkdir(exist_ok=True)
        folder.files.checkpoint("last").touch()  # as a power failure leaves it
        folder.write_config(Config(recipe="shakespeare"))
        yield folder


def started(folder: RunFolder) -> Started:
    return Started(
        step=0, total_steps=100, symbols=9, data="a", vocabulary=3, parameters=5, device="cpu",
        precision="fp32", run_dir=folder.path,
    )  # fmt: skip


def validated(step: int) -> list[Event]:
    return [Validated(step, 1.0, 2.0, 2.9, True, 2.0), Stepped(step)]


def finished(folder: RunFolder) -> Finished:
    return Finished(step=100, seconds=9.0, best_loss=2.0, run_dir=folder.path)


def test_a_page_is_written_as_often_as_a_hundredth_of_the_time_allows(folder: RunFolder) -> None:
    page, notices = folder.files.report, list[str]()
    # Begun; no page; a page that takes three seconds; none within 300 s; one after them; the last.
    now = iter([0.0, 40.0, 60.0, 60.0, 63.0, 300.0, 364.0, 364.0, 367.0, 400.0, 403.0])
    report = Report(folder, dict, notices.append, clock=lambda: next(now))
    report(started(folder))
    for expected in (False, True, False, True):
        page.unlink(missing_ok=True)
        for event in validated(10):
            report(event)
        assert page.exists() == expected
    report(finished(folder))
    assert ": finished</title>" in page.read_text()
    assert notices == [f"report: {page}"]


@pytest.mark.parametrize("how", ["stopped", "diverged"])
def test_why_a_run_ended_early_is_kept(how: str, folder: RunFolder) -> None:
    report = Report(folder, lambda: {"device": "cpu"}, print)
    report(started(folder))
    assert json.loads(folder.files.about.read_text()) == {"device": "cpu", "ended": None}
    stopped = Stopped(7, "SIGTERM", folder.path)
    report(stopped if how == "stopped" else Diverged(7, "the loss is nan"))
    about = json.loads(folder.files.about.read_text())
    assert about == {"device": "cpu", "ended": {"how": how, "step": 7}}
    assert f": {how}</title>" in folder.files.report.read_text()


def test_a_page_that_cannot_be_written_ends_no_training(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    report = Report(folder, dict, notices.append)
    report(started(folder))
    fill_disk(monkeypatch, files=".report*")
    report(finished(folder))
    assert len(notices) == 1
    assert "no report: cannot write" in notices[0]
    assert [file.name for file in folder.path.glob("*report*")] == []


def test_what_gets_worse_is_told_at_once_and_not_again(leave: Leave) -> None:
    run, told = leave([2.0, 1.0], [1.8, 1.7, 2.2], finished=False), list[str]()
    follow = Warnings(run, told.append)
    follow(dataclasses.replace(VALIDATED, improved=True))
    assert not told
    follow(VALIDATED)
    follow(dataclasses.replace(VALIDATED, step=3000))
    follow(Finished(3000, 1.0, 1.7, Path("run")))
    (said,) = told
    assert said.startswith("It got worse after step 666")
