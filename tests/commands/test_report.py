"""`report`, and the page that every run leaves."""

import contextlib
import re
from pathlib import Path

import pytest

from tests.conftest import Run, start, wait_for_steps


def finding(run: Path) -> str:
    """The first sentences of a run's page."""
    (found,) = re.findall(r'<section class="verdict">\n<p>(.*?)</section>',
                          (run / "report.html").read_text(), re.S)  # fmt: skip
    return str(found)


def test_a_run_leaves_its_report(trained: Path, run: Run) -> None:
    before = (trained / "report.html").read_text()
    assert finding(trained).startswith("It learned.")
    with contextlib.chdir(trained.parent):
        done = run("report", "run_dir=run")
    assert (done.code, done.out.decode(), done.err) == (0, "run/report.html\n", "")
    written = re.compile(r"Written .{16}")
    assert written.sub("", (trained / "report.html").read_text()) == written.sub("", before)


@pytest.mark.thorough
def test_a_run_that_goes_on_and_one_that_was_killed(
    text_file: Path, tmp_path: Path, run: Run
) -> None:
    training = start(tmp_path / "a", text_file, "train.max_steps=1000000")
    try:
        wait_for_steps(tmp_path / "a", 20)
        run.ok("report", f"run_dir={tmp_path / 'a'}")
        assert "still going" in finding(tmp_path / "a")
    finally:
        training.kill()
        training.communicate()
    run.ok("report", f"run_dir={tmp_path / 'a'}")
    assert "It ended early" in finding(tmp_path / "a")


def test_a_training_that_stands_badly_says_so(run: Run, tiny: list[str]) -> None:
    words = ["train.max_steps=20", "train.validate_every=10", "optimizer.lr=1e-9"]
    assert "It has not learned: it is about as good as guessing" in run.ok(*tiny, *words).err


def test_the_report_of_another_program_is_left_as_it_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("a: 1\n")
    (tmp_path / "report.html").write_text("mine")
    assert "no run in this folder" in run.fails(4, "report", f"run_dir={tmp_path}")
    assert (tmp_path / "report.html").read_text() == "mine"
