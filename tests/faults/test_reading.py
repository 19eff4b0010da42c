"""Data that never end."""

from pathlib import Path

import pytest

from tests.conftest import TINY, Run

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("kind", ["text", "audio", "bytes"])
@pytest.mark.parametrize("place", ["/dev/zero", "/dev/null", "/dev/random", "loop", "folder"])
def test_what_never_ends_is_no_data(place: str, kind: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "device").symlink_to("/dev/zero")
    (tmp_path / "folder" / "up").symlink_to("..")
    (tmp_path / "loop").symlink_to("loop")
    data = tmp_path / place  # a device is absolute
    words = [f"data.path={data}", f"data.kind={kind}", f"run_dir={tmp_path / 'run'}"]
    refused = run.fails(3, *TINY, *words)
    assert refused.splitlines()[-1].startswith("seqkit: error: ")
    assert not (tmp_path / "run").exists()
