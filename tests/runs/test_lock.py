"""A run's folder has one owner, for as long as the owner's process lives."""

import errno
import fcntl
import subprocess
from pathlib import Path

import pytest

from seqkit.foundation.errors import OutputError
from seqkit.runs.lock import FolderLock, is_locked
from tests.conftest import environment
from tests.warm_python import python

pytestmark = pytest.mark.faults

HOLDING = """
import pathlib, sys, time
from seqkit.runs.lock import FolderLock
lock = FolderLock(pathlib.Path(sys.argv[1]))
lock.take()
print("held", flush=True)
time.sleep(60)
"""


def test_the_folder_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    file = tmp_path / ".lock"
    # As after a kill in a container that starts again under a new name.
    file.write_text('{"host": "another", "pid": 7, "of": "x"}\n')
    holding = subprocess.Popen(
        [python(), "-c", HOLDING, str(file)], env=environment(), stdout=subprocess.PIPE
    )
    assert holding.stdout and holding.stdout.readline()
    lock = FolderLock(file)
    with pytest.raises(OutputError, match="another training"):
        lock.take()
    holding.kill()
    holding.communicate()
    lock.take()
    lock.release()


def test_without_locks_a_folder_has_no_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    for lock in (FolderLock(tmp_path / ".lock"), FolderLock(tmp_path / ".lock")):
        lock.take()
        assert not is_locked(tmp_path / ".lock")
        lock.release()
