"""The command that makes a run again names another folder."""

import shlex
from pathlib import Path

import pytest

from seqkit.report.next_command import again
from seqkit.runs.record import read
from tests.report.conftest import Leave


@pytest.mark.parametrize("place", [".", "../run", "samples/.."])
def test_another_run_is_put_beside_this_one_from_within_it(
    place: str, leave: Leave, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = leave([3.0], [3.0])
    monkeypatch.chdir(run)
    (given,) = [word for word in shlex.split(again(read(Path(place)))) if "run_dir=" in word]
    beside = Path(given.partition("=")[2]).resolve()
    assert beside == run.with_name("run_again").resolve()
