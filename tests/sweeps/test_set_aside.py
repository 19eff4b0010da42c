"""Runs that a sweep sets aside: by links they lead nowhere, and later ones are not mixed in."""

import contextlib
from pathlib import Path

import pytest

from seqkit.foundation.checkpoint_files import MARK
from seqkit.foundation.errors import OutputError
from seqkit.sweeps import replaced
from tests.sweeps.test_replaced import Killed, content, killed_at, leave


@pytest.mark.parametrize(
    "name", [".replaced", ".replacing", ".replaced/0", ".replaced/0/checkpoints"]
)
def test_a_link_leads_to_no_other_folder(name: str, tmp_path: Path) -> None:
    folder, mine = tmp_path / "s", tmp_path / "mine"
    leave(mine / "0")
    leave(folder / "0")
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(mine / "0" / "checkpoints" if name.endswith("checkpoints") else mine)
    if name == ".replaced/0":
        place.unlink()
        place.symlink_to(mine / "0")
    before = content(mine)
    for act in (
        lambda: replaced.settle_begun(folder),
        lambda: replaced.put_in_place(folder, print),
        lambda: replaced.settle(folder / "0", print),
        lambda: replaced.set_aside(folder, range(3)),
    ):
        with contextlib.suppress(OutputError):
            act()
        assert content(mine) == before
    with pytest.raises(OutputError, match="is a link"):
        replaced.put_in_place(folder, print)


def test_a_run_that_began_meanwhile_is_not_mixed_with_an_earlier_one(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    leave(folder / "0")
    with pytest.MonkeyPatch.context() as patch:
        killed_at(2, patch)
        with pytest.raises(Killed):
            replaced.set_aside(folder, range(3))
    left = content(folder / ".replacing" / "0")
    assert left
    leave(folder / "0", MARK + b" new")
    replaced.undo_unfinished(folder)
    assert content(folder / "0" / "earlier_1") == left
    assert not (folder / ".replacing").exists()
    replaced.set_aside(folder, range(3))
    replaced.put_in_place(folder, print)
    assert (folder / "0" / "checkpoints" / "last.safetensors").read_bytes() == MARK + b" new"
