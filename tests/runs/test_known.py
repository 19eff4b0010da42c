"""A folder holds a run if anything in it is seqkit's, and not by names alone."""

import os
import shutil
from pathlib import Path

import pytest

from seqkit.foundation.errors import CheckpointError
from seqkit.runs.known import require_run
from seqkit.runs.layout import RunFiles


@pytest.mark.parametrize(
    "left", [["config.yaml"], ["metrics.jsonl"], ["config.yaml", "checkpoints/best.safetensors"]]
)
@pytest.mark.parametrize("damaged", [False, True])
def test_what_is_left_of_a_run_is_one(
    damaged: bool, left: list[str], trained: Path, tmp_path: Path
) -> None:
    for name in left:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(trained / name, tmp_path / name)
    if damaged and left != ["config.yaml"]:  # which is nobody's, then
        file = tmp_path / left[0]
        file.write_bytes(b"{\n" + file.read_bytes())
    require_run(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {"config.yaml": "a: 1\n"},
        {"config.yaml": "seed: 3\n", "metrics.jsonl": '{"loss": 1}\n{"event": "started"}\n'},
        {"metrics.jsonl": "", "checkpoints/last.safetensors": "another program's"},
        {"config.yaml": "a: 1\n", "checkpoints": "a file"},
    ],
)
def test_another_programs_folder_is_none(files: dict[str, str], tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    with pytest.raises(CheckpointError, match="no run in this folder: give the folder of a run"):
        require_run(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_the_place_of_a_checkpoint_is_not_waited_for(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    files.checkpoints.mkdir()
    os.mkfifo(files.checkpoint("best"))
    assert not files.has_checkpoints
