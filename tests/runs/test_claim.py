"""One training a folder, on one host and across hosts; the dead hold nothing."""

import json
import os
import signal
from pathlib import Path

import pytest

from seqkit.errors import OutputError
from seqkit.runs.claim import Claim, is_claimed
from tests.conftest import start, wait_for_steps


def leave(place: Path, age: float, **owner: object) -> None:
    """A lock file that was renewed so many seconds ago."""
    place.write_text(json.dumps({"host": "elsewhere", "pid": 7, "of": "x", **owner}))
    now = place.stat().st_mtime
    os.utime(place, (now - age, now - age))


def test_a_living_owner_is_named_and_a_dead_one_is_followed(
    text_file: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    training = start(run, text_file, "train.max_steps=1000000")
    wait_for_steps(run, 10)
    claim = Claim(run / ".lock")
    owner = json.loads((run / ".lock").read_text())
    assert is_claimed(run / ".lock")
    with pytest.raises(OutputError, match=rf"another training .* process {owner['pid']} on"):
        claim.take()
    os.kill(owner["pid"], signal.SIGKILL)
    training.communicate()
    assert not is_claimed(run / ".lock")
    claim.take()
    assert json.loads((run / ".lock").read_text())["pid"] == os.getpid()
    claim.release()
    assert (run / ".lock").read_bytes() == b""


@pytest.mark.parametrize(("age", "taken"), [(5, False), (50, False), (70, True)])
def test_another_host_keeps_its_claim_for_a_minute(age: float, taken: bool, tmp_path: Path) -> None:
    leave(tmp_path / ".lock", age)
    claim = Claim(tmp_path / ".lock")
    assert is_claimed(tmp_path / ".lock") is not taken
    if not taken:
        with pytest.raises(OutputError, match="process 7 on 'elsewhere'; if that has ended, try"):
            claim.take()
        assert not claim.held
    else:
        claim.take()
        claim.release()
    assert [file.name for file in tmp_path.iterdir()] == [".lock"]


def test_a_claim_that_was_taken_over_is_noticed(tmp_path: Path) -> None:
    claim = Claim(tmp_path / ".lock")
    claim.take()
    claim.check()
    leave(tmp_path / ".lock", 0)
    with pytest.raises(OutputError, match="took this folder over, process 7 on 'elsewhere'"):
        claim.check()
    claim.release()
    assert json.loads((tmp_path / ".lock").read_text())["pid"] == 7


def test_an_owner_renews_its_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqkit.runs.claim._BEAT", 0.01)
    claim = Claim(tmp_path / ".lock")
    claim.take()
    os.utime(tmp_path / ".lock", (0, 0))
    while (tmp_path / ".lock").stat().st_mtime == 0:
        pass
    claim.release()


def test_a_pipe_in_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".lock")
    assert not is_claimed(tmp_path / ".lock")
    with pytest.raises(OutputError, match="not a regular file"):
        Claim(tmp_path / ".lock").take()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"host": 1}', b"7" * 5000])
def test_what_names_nobody_is_nobodys(content: bytes, tmp_path: Path) -> None:
    (tmp_path / ".lock").write_bytes(content)
    assert not is_claimed(tmp_path / ".lock")
    claim = Claim(tmp_path / ".lock")
    claim.take()
    claim.release()
