"""A program that finds everything imported ends like one that does not."""

import subprocess
import sys

import pytest

from tests.conftest import environment
from tests.warm_python import python


@pytest.mark.parametrize(
    "program",
    [
        "print('a')",
        "import sys; sys.exit(3)",
        "import sys; sys.exit('why')",
        "1 / 0",
        "raise KeyboardInterrupt",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import atexit; atexit.register(print, 'last'); print('first')",
        "import threading; threading.Timer(0.1, print, ['late']).start(); print('early')",
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
