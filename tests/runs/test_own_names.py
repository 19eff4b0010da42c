"""Names in a run's folder that lead elsewhere: refused, before anything is written."""

import os
import shutil
from pathlib import Path

import pytest

from seqkit.foundation.errors import OutputError
from seqkit.runs import own_names
from seqkit.runs.folder import RunFolder
from seqkit.runs.layout import RunFiles
from tests.conftest import TINY, Run, same

pytestmark = pytest.mark.faults

FOLDERS = ("checkpoints", "samples", "tensorboard")
FILES = ("config.yaml", "about.json", "metrics.jsonl", "summary.json", "log", "report.html")
SAMPLES = ("samples/step_0000050.txt", "samples/final.wav", "samples/data.wav")


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", [*FOLDERS, *FILES, *SAMPLES, "checkpoints/last.safetensors"])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_refused(name: str, there: bool, tmp_path: Path) -> None:
    place, target = tmp_path / "run" / name, tmp_path / "mine"
    place.parent.mkdir(parents=True)
    place.symlink_to(target)
    if there and name in FOLDERS:
        target.mkdir()
    elif there:
        target.write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    folder = RunFolder(tmp_path / "run")
    hint = "link the whole run folder" if name in FOLDERS else "put the file itself"
    refused = pytest.raises(OutputError, match=rf"run/{name} is a link to .*/mine: {hint}")
    with refused, folder.claimed():
        pass
    with refused:
        folder.make()
    assert sorted(tmp_path.rglob("*")) == before
    assert not there or not target.is_file() or target.read_text() == "mine"


@pytest.mark.parametrize("name", [*FOLDERS, *FILES, "checkpoints/last.safetensors"])
def test_something_else_is_refused(name: str, tmp_path: Path) -> None:
    place = tmp_path / "run" / name
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    with pytest.raises(OutputError, match=rf"run/{name} is a named pipe, where a run has a fi?o?"):
        own_names.require(RunFiles(tmp_path / "run"))
    place.unlink()
    if name in FOLDERS:
        place.touch()
        expected = "a file, where a run has a folder"
    else:
        place.mkdir()
        expected = "a folder, where a run has a file"
    with pytest.raises(OutputError, match=rf"run/{name} is {expected}: move it away"):
        own_names.require(RunFiles(tmp_path / "run"))


def test_a_run_as_it_is_and_a_link_to_all_of_it_are_gone_on_with(
    trained: Path, text_file: Path, tmp_path: Path, run: Run
) -> None:
    shutil.copytree(trained, tmp_path / "disk")
    (tmp_path / "run").symlink_to("disk")
    own_names.require(RunFiles(tmp_path / "run"))
    data = text_file.parent / "text.txt"
    data.write_bytes((trained.parent / "text.txt").read_bytes())
    keys = (f"data.path={data}", "train.max_steps=160", "resume=auto")
    more = run(f"run_dir={tmp_path / 'run'}", *keys)
    assert more.code == 0, more.err


@pytest.mark.parametrize("kind", ["checkpoints of another run", "pipe"])
def test_a_training_in_such_a_folder_ends_before_it_begins(
    kind: str, trained: Path, text_file: Path, tmp_path: Path, run: Run
) -> None:
    place = tmp_path / "copy"
    mine = shutil.copytree(trained, tmp_path / "mine")
    shutil.copytree(trained, place)
    if kind == "pipe":
        (place / "metrics.jsonl").unlink()
        os.mkfifo(place / "metrics.jsonl")
    else:
        shutil.rmtree(place / "checkpoints")
        (place / "checkpoints").symlink_to("../mine/checkpoints")
    before = contents(tmp_path)
    keys = (f"data.path={text_file}", f"run_dir={place}", "train.max_steps=160")
    for more in ("resume=auto", "overwrite=true"):
        refused = run(*TINY, *keys, more)
        assert refused.code == 6
        assert refused.err.count("\n") == 1
    assert contents(tmp_path) == before
    assert same(mine, trained)
