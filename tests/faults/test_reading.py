"""Data that never come, or never end."""

import os
from pathlib import Path

import pytest

from seqkit.data import stdin
from tests.conftest import TINY, Run

pytestmark = pytest.mark.faults


def test_a_pipe_into_which_nobody_writes_is_not_waited_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdin, "_TIMEOUT", 0.2)
    own, (reading, writing) = os.dup(0), os.pipe()
    os.dup2(reading, 0)
    refused = run.fails(3, *TINY, "data.path=-", f"run_dir={tmp_path / 'run'}")
    os.dup2(own, 0)
    for handle in (own, reading, writing):
        os.close(handle)
    assert "nothing came in 0.2 s" in refused
    assert not (tmp_path / "run").exists()


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
