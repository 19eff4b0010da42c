"""Where things lie in a run's folder, and what is said of a folder that is none."""

import os
from pathlib import Path

import pytest

from seqkit.api.fine_tuning import initial
from seqkit.config import Config
from seqkit.foundation.errors import CheckpointError
from seqkit.foundation.plugins import Catalogue
from seqkit.runs.layout import RunFiles, find_checkpoint
from tests.conftest import TINY, Run


def leave(run: Path, age: int) -> Path:
    """A run whose checkpoint is so old."""
    file = RunFiles(run).checkpoint("best")
    file.parent.mkdir(parents=True)
    file.touch()
    os.utime(file, (1e9 - age,) * 2)
    return run


def test_of_a_folder_of_runs_the_newest_are_named(tmp_path: Path) -> None:
    runs = [leave(tmp_path / name, age) for age, name in enumerate(("b", "x/1", "a", "x/0"))]
    with pytest.raises(CheckpointError) as refused:
        find_checkpoint(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}: a folder of runs: give one of them, the newest: "
        f"checkpoint={runs[0]}, {runs[1]}, {runs[2]} …"
    )
    with pytest.raises(CheckpointError, match=rf"the newest: checkpoint={runs[1]}, {runs[3]}$"):
        find_checkpoint(tmp_path / "x")
    (tmp_path / "none").mkdir()
    with pytest.raises(CheckpointError, match="no checkpoint in this folder"):
        find_checkpoint(tmp_path / "none")
    (tmp_path / "begun" / "checkpoints").mkdir(parents=True)
    (tmp_path / "begun" / "config.yaml").touch()
    with pytest.raises(CheckpointError, match="this run has no checkpoint yet"):
        find_checkpoint(tmp_path / "begun")
    assert find_checkpoint(runs[0]) == RunFiles(runs[0]).checkpoint("best")


def test_of_a_folder_of_runs_one_is_named_to_start_from(run: Run, tmp_path: Path) -> None:
    newest = leave(tmp_path / "a", 0)
    refused = run(*TINY, f"init_from={tmp_path}")
    assert refused.code == 4
    assert f"give one of them, the newest: init_from={newest}\n" in refused.err
    with pytest.raises(CheckpointError, match=f"the newest: init_from={newest}$"):
        initial(Config(init_from=str(tmp_path)), Catalogue())
