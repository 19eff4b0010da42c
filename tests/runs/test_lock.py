"""A run's folder has one owner, for as long as the owner's process lives."""

import errno
import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from seqkit.foundation.errors import OutputError
from seqkit.runs.lock import is_locked, take
from tests.conftest import environment
from tests.warm_python import python

pytestmark = pytest.mark.faults

HOLDING = """
import pathlib, sys, time
from seqkit.runs.lock import take
take(pathlib.Path(sys.argv[1]))
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
    with pytest.raises(OutputError, match="another training"):
        take(file)
    holding.kill()
    holding.communicate()
    os.close(take(file))


def test_without_locks_a_folder_has_no_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    handles = [take(tmp_path / ".lock") for _ in range(2)]
    assert not is_locked(tmp_path / ".lock")
    for handle in handles:
        os.close(handle)
