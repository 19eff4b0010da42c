"""The program behind the stand-in for `python`, which the server of warm Pythons runs elsewhere.

    python -IS warm_client.py FOLDER WORD ...

FOLDER is the server's: its socket, its stderr, and the variables with which it began. The words are
those after `python`. It imports little: it starts with every program.
"""

import fcntl
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Mapping
from io import TextIOWrapper

PASSED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""The signals that a program gets from whoever sends them to its client."""
_READ_AT_START = ("OMP_", "GOMP_", "KMP_", "MKL_", "MPL", "PYTHON")


def read_at_start(variables: Mapping[str, str]) -> dict[str, str]:
    """Those of the environment that Python and libraries read once, as they start."""
    return {
        name: value
        for name, value in variables.items()
        if name.startswith(_READ_AT_START) and name != "PYTHONPATH"
    }


def _number(answers: TextIOWrapper, folder: str) -> int:
    """The server's next answer; where there is none, this ends with what the server said."""
    try:
        return int(answers.readline())
    except (OSError, ValueError):
        raise _lost(folder) from None


def _lost(folder: str) -> SystemExit:
    with open(f"{folder}/stderr", errors="replace") as said:  # noqa: PTH123
        return SystemExit(f"the server of warm Pythons has ended. It said:\n{said.read().rstrip()}")


def _open_streams() -> list[int]:
    opened = []
    for number in range(3):
        try:
            os.fstat(number)
            opened.append(number)
        except OSError:  # closed
            pass
    return opened


def main(folder: str, words: list[str]) -> None:
    """Run a program as `python WORD ...` does, and end as it does."""
    with open(f"{folder}/variables.json") as known:  # noqa: PTH123
        if json.load(known) != read_at_start(os.environ):
            os.execv(sys.executable, [sys.executable, *words])
    streams = _open_streams()
    ignored: list[int] = []
    waiting: list[int] = []
    program = 0

    def forward(number: int, frame: object = None) -> None:
        waiting.append(number)
        while program and waiting:
            os.kill(program, waiting.pop())

    for number in PASSED:
        if signal.getsignal(number) == signal.SIG_IGN:
            ignored.append(number)
        else:
            signal.signal(number, forward)
    link = socket.socket(socket.AF_UNIX)
    link = socket.socket(fileno=fcntl.fcntl(link.detach(), fcntl.F_DUPFD_CLOEXEC, 3))
    limits = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
    told = {
        "streams": streams,
        "ignored": ignored,
        "limits": [(limit, resource.getrlimit(limit)) for limit in limits],
        "words": words,
        "env": dict(os.environ),
    }
    try:
        link.connect(f"{folder}/socket")
        socket.send_fds(link, [b"."], [os.open(".", os.O_RDONLY), *streams])
        link.sendall(json.dumps(told).encode() + b"\n")
    except OSError:
        raise _lost(folder) from None
    answers = link.makefile()
    program = _number(answers, folder)
    if waiting:
        forward(waiting.pop())
    code = _number(answers, folder)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
