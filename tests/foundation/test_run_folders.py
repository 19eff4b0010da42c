"""Where things lie in a run's folder, and what is said of one that is none."""

import shutil
from pathlib import Path

import pytest

from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.run_folders import (
    RunFiles,
    find_checkpoint,
    find_runs,
    require_run,
)


def test_runs_are_found_by_a_glob_and_below_it(trained: Path, tmp_path: Path) -> None:
    for place in ("a", "b", "shakespeare/2026", "[x]"):
        shutil.copytree(trained, tmp_path / place)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").touch()
    found, others = find_runs(f"{tmp_path}/*")
    names = [str(path.relative_to(tmp_path)) for path in found]
    assert names == ["[x]", "a", "b", "shakespeare/2026"]
    assert others == [tmp_path / "conf"]
    assert find_runs(f"{tmp_path}/[ab]") == ([tmp_path / "a", tmp_path / "b"], [])
    assert find_runs(str(tmp_path)) == (found, [])
    for pattern in ("none", "*.txt", "conf"):
        with pytest.raises(ConfigError, match="no run there"):
            find_runs(f"{tmp_path}/{pattern}")
    for refuses in (require_run, find_checkpoint):
        with pytest.raises(
            CheckpointError, match=r"it holds the runs \[x\], a, b and 1 more: give"
        ):
            refuses(tmp_path)
    assert find_checkpoint(found[0]) == RunFiles(found[0]).checkpoint("best")


def test_a_folder_that_is_closed_is_not_said_to_hold_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda place, mode: place != tmp_path / "checkpoints")
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(CheckpointError, match="checkpoints cannot be read: permission denied"):
        require_run(tmp_path)
