"""No training replaces what it learns from or starts from."""

from pathlib import Path

import pytest

from tests.conftest import SENTENCE, TINY, Run

pytestmark = pytest.mark.faults


def test_what_a_training_reads_is_not_replaced(run: Run, tmp_path: Path) -> None:
    folder, text = tmp_path / "y", tmp_path / "text.txt"
    text.write_text(SENTENCE * 40)
    words = [*TINY, f"data.path={text}", "train.max_steps=2"]
    assert run(*words, f"run_dir={folder}").code == 0
    before = {file: file.read_bytes() for file in folder.rglob("*.safetensors")}
    (tmp_path / "linked").symlink_to(folder)
    for run_dir in (folder, tmp_path / "linked"):
        refused = run(*words, f"run_dir={run_dir}", f"init_from={folder}", "overwrite=true")
        assert (refused.code, refused.err.count("\n")) == (6, 1), refused.err
        assert f"init_from={folder} lies in {run_dir}, the run's own folder" in refused.err
    own = folder / "samples" / "own.txt"
    own.write_text(SENTENCE * 40)
    refused = run(*TINY, f"data.path={own}", f"run_dir={folder}", "overwrite=true")
    assert (refused.code, f"data.path={own} lies in" in refused.err) == (6, True)
    assert {file: file.read_bytes() for file in folder.rglob("*.safetensors")} == before
