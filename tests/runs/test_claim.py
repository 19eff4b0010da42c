"""One training a folder, on one host and across hosts; the dead hold nothing."""

import contextlib
import errno
import fcntl
import json
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from seqkit.foundation.errors import OutputError
from seqkit.runs.claim import Claim, _lives, is_claimed
from tests.conftest import start, wait_for_steps

pytestmark = pytest.mark.faults


def leave(place: Path, age: float, **owner: object) -> None:
    """A lock file that was renewed so many seconds ago."""
    place.write_text(json.dumps({"host": "elsewhere", "pid": 7, "of": "x", **owner}))
    now = place.stat().st_mtime
    os.utime(place, (now - age, now - age))


def no_locks(*_: object) -> None:
    """`flock` on a file system that has none."""
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


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


@pytest.mark.parametrize(
    ("age", "what_to_do"),
    [
        (50, r"try again in (9|10) seconds\Z"),
        (-50, r"try again in 1(09|10) seconds\Z"),
        (-3600, r"dated in the future: if that training has ended, remove .*/\.lock\Z"),
    ],
)
def test_what_to_do_if_another_host_has_ended_works(
    age: float, what_to_do: str, tmp_path: Path
) -> None:
    leave(tmp_path / ".lock", age)
    assert is_claimed(tmp_path / ".lock") is (age > -60)  # nobody is to wait for years
    with pytest.raises(OutputError, match=what_to_do):
        Claim(tmp_path / ".lock").take()
    (tmp_path / ".lock").unlink()
    claim = Claim(tmp_path / ".lock")
    claim.take()
    claim.release()


@pytest.mark.parametrize("age", [5, 70])
@pytest.mark.parametrize("locks", [True, False])
@pytest.mark.parametrize("host", ["here", "elsewhere"])
@pytest.mark.parametrize("lives", [True, False])
def test_a_reader_sees_what_a_training_would(
    age: float, locks: bool, host: str, lives: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    owner = {"host": platform.node() if host == "here" else host}
    leave(tmp_path / ".lock", age, **owner, pid=os.getpid() if lives else ended.pid)
    if not locks:
        monkeypatch.setattr(fcntl, "flock", no_locks)
    folder = tmp_path.stat().st_mtime_ns
    claimed = is_claimed(tmp_path / ".lock")
    assert claimed is (age < 60 if host == "elsewhere" else lives and not locks)
    assert tmp_path.stat().st_mtime_ns == folder  # it wrote nothing
    claim = Claim(tmp_path / ".lock")
    with pytest.raises(OutputError) if claimed else contextlib.nullcontext():
        claim.take()
    claim.release()


def test_a_training_that_starts_waits_for_a_reader(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    with (tmp_path / ".lock").open("rb") as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        ending = threading.Timer(0.02, lambda: fcntl.flock(reader, fcntl.LOCK_UN))
        ending.start()
        claim = Claim(tmp_path / ".lock")
        claim.take()
        claim.release()
        ending.join()


def test_without_signals_to_ask_with_every_process_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda *_: sent.append(1))
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        assert _lives(7)
    assert not sent


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


HALF = b'{"host": "here", "pid": 7, "of": "0'


@pytest.mark.parametrize(
    "content", [*(HALF[:size] for size in range(len(HALF))), b"\0" * 60, HALF[:20] + b"\0" * 9]
)
def test_what_names_nobody_is_nobodys(content: bytes, tmp_path: Path) -> None:
    (tmp_path / ".lock").write_bytes(content)
    assert not is_claimed(tmp_path / ".lock")
    claim = Claim(tmp_path / ".lock")
    claim.take()
    claim.release()


@pytest.mark.parametrize(
    "content", [b"mine", b"[]", b"\xff", b'{"host": 1}', b'{"host": "a"}', b"\0mine", b"7" * 5000]
)
def test_a_users_own_file_is_left_as_it_is(content: bytes, tmp_path: Path) -> None:
    (tmp_path / ".lock").write_bytes(content)
    assert not is_claimed(tmp_path / ".lock")
    with pytest.raises(OutputError, match=r"\.lock holds what no training wrote: move it away"):
        Claim(tmp_path / ".lock").take()
    assert (tmp_path / ".lock").read_bytes() == content


def deleted(place: Path) -> None:
    place.unlink()


def emptied(place: Path) -> None:
    """As by another host's training that took over, and ended."""
    place.write_bytes(b"")


def copied(place: Path) -> None:
    """As by `cp -a a b; ln -sfn b latest`, to a training in `latest`."""
    copy = place.with_name("copy")
    copy.write_bytes(place.read_bytes())
    copy.replace(place)


def linked(place: Path) -> None:
    place.symlink_to(place.rename(place.with_name("moved")))


@pytest.mark.parametrize("lose", [deleted, emptied, copied, linked])
def test_only_the_very_file_that_was_taken_is_held(
    lose: Callable[[Path], None], tmp_path: Path
) -> None:
    claim = Claim(tmp_path / ".lock")
    claim.take()
    lose(tmp_path / ".lock")
    left = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(OutputError, match="no longer the file that this training holds"):
        claim.check()
    claim.release()
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == left
    again = Claim(tmp_path / ".lock")
    again.take()
    again.release()


def test_a_run_that_was_moved_is_found_under_its_old_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    claim = Claim(tmp_path / "a" / ".lock")
    claim.take()
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "a").symlink_to("b")
    claim.check()
    claim.release()
    assert (tmp_path / "b" / ".lock").read_bytes() == b""


def symbolic(place: Path, mine: Path) -> None:
    place.symlink_to(mine)


def hard(place: Path, mine: Path) -> None:
    """As after `cp -al`."""
    place.hardlink_to(mine)


@pytest.mark.parametrize("content", [b"mine", b"", b'{"host": "gone", "pid": 7, "of": "x"}'])
@pytest.mark.parametrize("link", [symbolic, hard])
def test_nothing_is_written_to_a_file_that_a_lock_links_to(
    link: Callable[[Path, Path], None], content: bytes, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.write_bytes(content)
    os.utime(mine, (1e9, 1e9))
    link(tmp_path / ".lock", mine)
    assert not is_claimed(tmp_path / ".lock")
    claim = Claim(tmp_path / ".lock")
    claim.take()
    claim.check()
    assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()
    claim.release()
    assert (mine.read_bytes(), mine.stat().st_mtime) == (content, 1e9)
    assert not (tmp_path / ".lock").is_symlink()


def test_a_lock_that_leads_nowhere_or_to_a_pipe_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("nowhere", "pipe", ".lock"):
        (tmp_path / ".lock").unlink(missing_ok=True)
        (tmp_path / ".lock").symlink_to(name)
        assert not is_claimed(tmp_path / ".lock")
        claim = Claim(tmp_path / ".lock")
        claim.take()
        claim.release()
    assert {file.name for file in tmp_path.iterdir()} == {".lock", "pipe"}


def test_a_living_owner_keeps_a_lock_with_a_second_name(tmp_path: Path) -> None:
    owner = Claim(tmp_path / ".lock")
    owner.take()
    (tmp_path / "copy").hardlink_to(tmp_path / ".lock")
    with pytest.raises(OutputError, match="another training writes"):
        Claim(tmp_path / ".lock").take()
    owner.check()
    owner.release()


@pytest.mark.parametrize("link", [symbolic, hard])
def test_of_those_who_replace_a_lock_at_once_one_holds_it(
    link: Callable[[Path, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seqkit.runs.claim._PATIENCE", 0.01)
    (tmp_path / "mine").touch()

    def take(claim: Claim) -> None:
        together.wait()
        with contextlib.suppress(OutputError):
            claim.take()

    for _ in range(20):
        (tmp_path / ".lock").unlink(missing_ok=True)
        link(tmp_path / ".lock", tmp_path / "mine")
        claims, together = [Claim(tmp_path / ".lock") for _ in range(4)], threading.Barrier(4)
        threads = [threading.Thread(target=take, args=(claim,)) for claim in claims]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        [holder] = [claim for claim in claims if claim.held]
        holder.check()
        holder.release()


def test_a_child_of_the_owner_does_not_keep_the_folder(tmp_path: Path) -> None:
    claim, other = Claim(tmp_path / ".lock"), Claim(tmp_path / ".lock")
    claim.take()
    assert claim._file
    handle = claim._file.fileno()
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[handle])  # as a fork has it
    claim.release()
    other.take()
    other.release()
    child.communicate()
