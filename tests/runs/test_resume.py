"""Which saved state a run goes on from, and with which settings."""

import errno
import shutil
from pathlib import Path

import pytest

from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import CheckpointError, ConfigError, UnreadableError
from seqkit.runs.checkpoint import load as read_checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.runs.resume import find_last, read_config
from tests.runs.test_folder import checkpoint

pytestmark = pytest.mark.faults


def save_all(folder: RunFolder, *steps: int) -> None:
    for step in steps:
        with folder.claimed():
            folder.make()
            folder.save(checkpoint(step))


@pytest.mark.parametrize("renamed", [0, 1])
def test_a_kill_within_a_save_leaves_a_whole_checkpoint(
    renamed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    save_all(folder, 1, 2)

    done, replace = list[Path](), Path.replace

    def killed(source: Path, target: Path) -> Path:
        if len(done) == renamed:
            raise SystemError
        done.append(target)
        return replace(source, target)

    with monkeypatch.context() as dying:
        dying.setattr(Path, "replace", killed)
        with pytest.raises(SystemError):
            save_all(folder, 3)
    assert find_last(folder, Catalogue(), print).metrics["step"] == 2
    save_all(folder, 3)
    assert find_last(folder, Catalogue(), print).metrics["step"] == 3
    previous = read_checkpoint(folder.checkpoint("previous"), Catalogue())
    assert previous.metrics["step"] == 2


def test_what_cannot_be_read_now_is_not_taken_for_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    save_all(folder, 1, 2)
    last, read = folder.checkpoint("last"), Path.read_bytes

    def fails(path: Path) -> bytes:
        if path == last:
            raise OSError(errno.EIO, "Input/output error")
        return read(path)

    with monkeypatch.context() as failing:
        failing.setattr(Path, "read_bytes", fails)
        with pytest.raises(UnreadableError, match=r"last\.safetensors: cannot be read: input/outp"):
            find_last(folder, Catalogue(), print)
    monkeypatch.setattr("seqkit.runs.checkpoint.FORMAT", 0)
    with pytest.raises(UnreadableError, match="format 1, and this seqkit reads format 0"):
        find_last(folder, Catalogue(), print)


def test_the_settings_are_those_of_the_newest_checkpoint(trained: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(trained, tmp_path / "run"))
    (copy / "config.yaml").write_text("optimizer:\n  lr: 5\n")
    config = read_config(copy)
    assert (config.recipe, config.model.hidden_size) == ("shakespeare", 24)
    for name in ("last", "previous", "best"):
        (copy / "checkpoints" / f"{name}.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match="its checkpoints are damaged: give another run_dir"):
        read_config(copy)
    with pytest.raises(ConfigError, match="no such folder"):
        read_config(tmp_path / "none")
