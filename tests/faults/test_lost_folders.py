"""A training whose folder is not its own any more: it ends, and writes to nobody's run."""

import shutil
import subprocess
from pathlib import Path

import pytest

from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.run_folders import RunFiles
from seqkit.runs.resume import find_last
from tests.conftest import start, wait_for_steps

pytestmark = pytest.mark.faults


def contents(run: Path) -> dict[Path, bytes]:
    """All files of a run but for half ones: a process removes its own when it wakes up."""
    files = [file for file in run.rglob("*") if file.is_file() and file.suffix != ".tmp"]
    return {file: file.read_bytes() for file in files}


def ended(training: "subprocess.Popen[str]") -> str:
    """What a training said that lost its folder."""
    out, said = training.communicate()
    assert training.returncode == 6, said
    assert not out
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize("way", ["link", "name"])
def test_another_run_under_the_name_of_the_folder_stays(
    way: str, trained: Path, text_file: Path, tmp_path: Path
) -> None:
    place, own, other = tmp_path / "place", tmp_path / "own", tmp_path / "other"
    shutil.copytree(trained, other)
    if way == "link":
        own.mkdir()
        place.symlink_to(own)
    keys = ("train.max_steps=1000000", "train.validate_every=20", "train.checkpoint_every=5")
    training = start(place, text_file, *keys)
    wait_for_steps(place, 45)  # the save at step 40 has waited for that at 35
    before = contents(other)
    if way == "link":
        (tmp_path / "new").symlink_to(other)
        (tmp_path / "new").replace(place)
    else:
        place.rename(own)
        other.rename(place)
        before = {place / file.relative_to(other): content for file, content in before.items()}
    ended(training)
    assert contents(place if way == "name" else other) == before
    left = find_last(RunFiles(own), Catalogue(), print)  # the folder may have left between renames
    assert left.metrics["step"] >= 35


def test_a_run_that_is_moved_before_its_first_checkpoint_is_not_begun_again(
    text_file: Path, tmp_path: Path
) -> None:
    place, own = tmp_path / "place", tmp_path / "own"
    training = start(place, text_file, "train.max_steps=1000000", "train.validate_every=1000000")
    wait_for_steps(place, 20)
    place.rename(own)
    assert f"{place / '.lock'} is no longer the file that this training holds" in ended(training)
    assert not place.exists()
    left = find_last(RunFiles(own), Catalogue(), print)
    assert left.metrics["step"] == 0
