"""What init_from= means: a checkpoint, named by its own key where there are several."""

from pathlib import Path

import pytest

from seqkit.api.fine_tuning import initial
from seqkit.config import Config
from seqkit.errors import CheckpointError
from seqkit.plugins import Catalogue
from seqkit.runs.layout import RunFiles
from seqkit.runs.origin import find_origin
from tests.conftest import TINY, Run


def test_of_a_folder_of_runs_one_is_named_to_start_from(run: Run, tmp_path: Path) -> None:
    file = RunFiles(tmp_path / "runs" / "a").checkpoint("best")
    file.parent.mkdir(parents=True)
    file.touch()
    assert find_origin(str(tmp_path / "runs" / "a")) == file
    folder = tmp_path / "runs"
    refused = run(*TINY, f"init_from={folder}")
    assert refused.code == 4
    assert f"give one of them, the newest: init_from={folder / 'a'}\n" in refused.err
    with pytest.raises(CheckpointError, match=f"the newest: init_from={folder / 'a'}$"):
        initial(Config(init_from=str(folder)), Catalogue())
