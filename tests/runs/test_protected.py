"""The files that no command writes over, by whatever name."""

import os
import shutil
from pathlib import Path

import pytest

from seqkit.foundation.errors import OutputError
from seqkit.runs import protected
from seqkit.runs.claim import Claim
from tests.conftest import EARLIER_RUNS

OWN = (
    *("config.yaml", "about.json", "metrics.jsonl", "summary.json", "report.html", "log", ".lock"),
    *("checkpoints/last.safetensors", "checkpoints/new.txt", "checkpoints/deep/new.txt"),
    *("tensorboard/new", "checkpoints", "CHECKPOINTS/new.txt", "samples/../log"),
)


@pytest.fixture
def run_folder(trained: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "run"
    shutil.copytree(trained, copy)
    return copy


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("way", ["itself", "link", "link to the run", "relative"])
def test_a_runs_own_files_are_refused(
    way: str, name: str, run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = run_folder / name
    if way == "link":
        out = tmp_path / "link.txt"
        out.symlink_to(run_folder / name)
    elif way == "link to the run":
        (tmp_path / "other").symlink_to(run_folder)
        out = tmp_path / "other" / name
    elif way == "relative":
        monkeypatch.chdir(run_folder / "samples")
        out = Path("..") / name
    with pytest.raises(OutputError) as told:
        protected.refuse(out)
    assert str(told.value) == (
        f"out={out} is one of the files of the run {run_folder.resolve()}: give another name; "
        "overwrite does not help"
    )


def test_a_link_among_a_runs_files_is_refused_wherever_it_leads(
    run_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").touch()
    link = run_folder / "checkpoints" / "kept.safetensors"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="is one of the files of the run"):
        protected.refuse(link)


def test_a_checkpoint_is_refused_wherever_it_lies(run_folder: Path, tmp_path: Path) -> None:
    files = [*EARLIER_RUNS.rglob("*.safetensors")]
    assert files
    files.append(run_folder / "checkpoints" / "best.safetensors")
    for file in files:
        copy, hard = tmp_path / "kept.wav", tmp_path / "other.txt"
        copy.write_bytes(file.read_bytes()[:-1])  # cut short, it may still be dear
        os.link(copy, hard)
        for out in (copy, hard):
            with pytest.raises(OutputError, match="is a checkpoint: give another name; overwrite"):
                protected.refuse(out)
            out.unlink()


def test_a_study_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.study import StudyDirection

    out = tmp_path / "search.jsonl"
    protected.refuse(out)
    out.write_text("what a user searched for")
    protected.refuse(out)
    out.unlink()
    JournalStorage(JournalFileBackend(str(out))).create_new_study([StudyDirection.MINIMIZE])
    with pytest.raises(OutputError, match="is the study of a search: give another name; overwrite"):
        protected.refuse(out)


def test_shards_and_their_index_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    (folder / "000000.bin").write_bytes(b"of the user")
    for name in ("000000.bin", "index.json"):
        protected.refuse(folder / name)
    (folder / "index.json").write_text('{"format": "seqkit shards", "version": 1}')
    (tmp_path / "link.txt").symlink_to(folder / "000000.bin")
    shutil.copy(folder / "index.json", tmp_path / "kept.txt")
    own = ("shards/000000.bin", "shards/starts.int64", "shards/index.json")
    for name in (*own, "link.txt", "kept.txt"):
        with pytest.raises(OutputError, match=r"is (an index|one of the files) of shards: give an"):
            protected.refuse(tmp_path / name)
    protected.refuse(folder / "score.html")
    protected.refuse(folder)


def test_a_sweeps_lock_and_logs_are_refused(run_folder: Path, tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    sweep.mkdir()
    for name in (".lock", "0.log"):
        (sweep / name).touch()
        protected.refuse(sweep / name)
    claim = Claim(sweep / ".lock")
    claim.take()
    told = "one of the files of the sweep .*sweep: give another name; overwrite does not help"
    with pytest.raises(OutputError, match=told):
        protected.refuse(sweep / ".lock")
    claim.release()
    run_folder.rename(sweep / "0")
    (tmp_path / "link").symlink_to(sweep / "0.log")
    for out in (sweep / ".lock", sweep / "0.log", tmp_path / "link"):
        with pytest.raises(OutputError, match=told):
            protected.refuse(out)
    for name in ("1.log", "a.log", "0.txt"):
        protected.refuse(sweep / name)


@pytest.mark.parametrize("name", ["samples/final.txt", "samples/log", "score.html", "deep/log"])
def test_samples_and_a_users_own_files_in_a_run_may_be_written(name: str, run_folder: Path) -> None:
    protected.refuse(run_folder / name)


def test_files_of_no_run_may_be_written_over(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    (tmp_path / "checkpoints").mkdir()
    for name in ("log", "config.yaml", "checkpoints/a.txt", "a\0b", "a" * 300, "pipe"):
        protected.refuse(tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    protected.refuse(tmp_path / "pipe")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    protected.refuse(tmp_path / "round" / "a.txt")


def test_another_programs_folders_are_not_a_runs(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "metrics.jsonl").write_text("{}\n")
    (tmp_path / "config.yaml").write_text("seed: 3\n")
    for name in ("checkpoints/model.onnx", "report.html"):
        protected.refuse(tmp_path / name)
