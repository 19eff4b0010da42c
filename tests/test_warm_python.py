"""A program that finds everything imported ends like one that does not."""

import subprocess
import sys

import pytest

from tests import warm_client
from tests.conftest import environment
from tests.warm_python import python

HASH = "print(hash('a'))"


@pytest.mark.parametrize(
    "program",
    [
        "print('a')",
        "import sys; sys.exit(3)",
        "import sys; sys.exit(-1)",
        "import sys; sys.exit('why')",
        "import sys; sys.exit(None)",
        "1 / 0",
        "raise KeyboardInterrupt",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import atexit; atexit.register(print, 'last'); print('first')",
        "import threading; threading.Timer(0.1, print, ['late']).start(); print('early')",
        "import sys; sys.stdout.write('no newline'); sys.stderr.write('x')",
        "import os; os.close(1)",
        "import sys; sys.stdout = open('/dev/full', 'w'); print(1)",
    ],
)
def test_programs_end_alike(program: str) -> None:
    ends = []
    for interpreter in (sys.executable, python()):
        done = subprocess.run(
            [interpreter, "-c", program], env=environment(), capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        ends.append((done.returncode, done.stdout, done.stderr.splitlines()[-1:]))
    assert ends[0] == ends[1]


def spoken(stand_in: str, **variables: str) -> str:
    """What a program says that tells the hash of a string."""
    return subprocess.run(
        [stand_in, "-c", HASH], env={**environment(), **variables}, capture_output=True,
        text=True, check=True,
    ).stdout  # fmt: skip


def test_a_variable_that_is_read_at_the_start_is_the_programs_own() -> None:
    own = spoken(sys.executable, PYTHONHASHSEED="1")
    assert spoken(python(), PYTHONHASHSEED="1") == own
    assert spoken(python()) == spoken(python())  # both are the server's
    assert warm_client.read_at_start({"OMP_NUM_THREADS": "1", "PYTHONPATH": "a", "HOME": "b"}) == {
        "OMP_NUM_THREADS": "1"
    }
