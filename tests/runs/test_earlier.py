"""What is left of a run that starts again stays whole, wherever the moving is killed."""

from pathlib import Path

import pytest

from seqkit.foundation import disk
from seqkit.runs import earlier
from seqkit.runs.layout import RunFiles


class Killed(BaseException):
    """In the place of SIGKILL."""


def test_a_kill_at_any_move_loses_nothing(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    names = ["config.yaml", "metrics.jsonl", "summary.json", "checkpoints/best.safetensors"]
    for name in [*names, "samples/final.wav"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    real, killed = disk.rename, 0
    while True:
        with pytest.MonkeyPatch.context() as patch:

            def rename(source: Path, target: Path, left: list[int] = [1]) -> None:  # noqa: B006
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
                real(source, target)

            patch.setattr(disk, "rename", rename)
            try:
                earlier.keep(files)
                break
            except Killed:
                killed += 1
        assert files.config.exists()  # so that the same command goes on
    assert killed == 3
    for name in [*names, "samples/final.wav"]:
        assert (tmp_path / "earlier_1" / name).read_text() == name
    assert earlier.place(files) is None
    files.summary.touch()
    assert earlier.place(files) == tmp_path / "earlier_2"


def test_a_users_folder_of_that_name_is_left_alone(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    for place in (tmp_path, tmp_path / "earlier_1"):
        (place / "checkpoints").mkdir(parents=True)
        (place / "checkpoints" / "best.safetensors").write_text(place.name)
    earlier.keep(files)
    kept = tmp_path / "earlier_1" / "checkpoints" / "best.safetensors"
    assert kept.read_text() == "earlier_1"
    assert (tmp_path / "earlier_2" / "checkpoints" / kept.name).read_text() == tmp_path.name


@pytest.mark.parametrize("name", ["earlier_1", "earlier_1/checkpoints", "link"])
def test_where_no_folder_can_be_the_next_number_is_taken(name: str, tmp_path: Path) -> None:
    files, own = RunFiles(tmp_path / "run"), tmp_path / "run" / "earlier_1"
    files.checkpoints.mkdir(parents=True)
    files.checkpoint("best").write_text("best")
    if name == "link":
        (tmp_path / "elsewhere").mkdir()
        own.symlink_to(tmp_path / "elsewhere")
    else:
        (files.path / name).parent.mkdir(exist_ok=True)
        (files.path / name).write_text("mine")
    earlier.keep(files)
    kept = files.path / "earlier_2" / "checkpoints" / "best.safetensors"
    assert kept.read_text() == "best"
    assert not [*own.glob("*/*")]
    assert earlier.free(files) == files.path / "earlier_3"


def test_a_link_that_leads_nowhere_has_a_number(tmp_path: Path) -> None:
    (tmp_path / "earlier_1").symlink_to("nowhere")
    assert earlier.free(RunFiles(tmp_path)) == tmp_path / "earlier_2"
