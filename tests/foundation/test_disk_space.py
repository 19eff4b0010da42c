"""Room is looked for on the disk that a file is written to."""

import shutil
from pathlib import Path

import pytest

from seqkit.foundation import disk_space
from seqkit.foundation.errors import OutputError


@pytest.mark.parametrize("name", [".", "new", "new/deep/file", "file"])
def test_the_disk_is_that_of_the_nearest_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "mounted"
    here.mkdir()
    (here / "file").touch()
    usage = shutil.disk_usage
    monkeypatch.setattr(
        shutil,
        "disk_usage",
        lambda path: usage(path)._replace(free=500 if path == here else 1 << 50),
    )
    disk_space.require(here / name, 500)
    with pytest.raises(OutputError, match=r"it takes 5\.2 MB, and 0\.5 kB are free on its disk"):
        disk_space.require(here / name, 5_200_000)
    with pytest.raises(OutputError, match=r"it takes 0\.6 kB, and"):
        disk_space.require(here / name, 600)
