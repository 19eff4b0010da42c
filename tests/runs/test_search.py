"""Runs are found by a folder or a glob."""

import shutil
from pathlib import Path

import pytest

from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.runs import search
from seqkit.runs.known import require_run
from seqkit.runs.layout import find_checkpoint
from seqkit.runs.own_config import read_config


def test_runs_are_found_by_a_glob_and_below_it(trained: Path, tmp_path: Path) -> None:
    for place in ("a", "b", "shakespeare/2026", "[x]"):
        shutil.copytree(trained, tmp_path / place)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").touch()
    (tmp_path / "notes.txt").touch()
    found, others = search.find(f"{tmp_path}/*")
    names = [str(path.relative_to(tmp_path)) for path in found]
    assert names == ["[x]", "a", "b", "shakespeare/2026"]
    assert others == [tmp_path / "conf"]
    assert search.find(f"{tmp_path}/[ab]") == ([tmp_path / "a", tmp_path / "b"], [])
    assert search.find(f"{tmp_path}/[x]") == ([tmp_path / "[x]"], [])
    assert search.find(str(tmp_path)) == (found, [])
    for pattern in ("none", "*.txt", "conf"):
        with pytest.raises(ConfigError, match="no run there"):
            search.find(f"{tmp_path}/{pattern}")


def test_every_message_names_the_same_runs(trained: Path, tmp_path: Path) -> None:
    for place in ("b", "shakespeare/2026"):
        shutil.copytree(trained, tmp_path / place)
    shutil.rmtree(tmp_path / "b" / "checkpoints")  # its metrics tell that it is a run
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").touch()
    told = "it holds the runs b, shakespeare/2026: "
    with pytest.raises(CheckpointError, match=told):
        require_run(tmp_path)
    with pytest.raises(ConfigError, match=told):
        read_config(tmp_path)
    with pytest.raises(CheckpointError, match=f"the newest: checkpoint={tmp_path}/shakespeare"):
        find_checkpoint(tmp_path)
    assert search.find(str(tmp_path))[0] == [tmp_path / "b", tmp_path / "shakespeare" / "2026"]
