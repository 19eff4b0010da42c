"""`python -m seqkit`, and the console script `seqkit`."""

import contextlib
import os
import signal
import sys
from types import FrameType

from seqkit.foundation.errors import NOT_BEGUN
from seqkit.foundation.processes import own_rank

_CODES = {"SIGINT": 130, "SIGTERM": 75, "SIGHUP": 75, "SIGUSR1": 75}


def main() -> None:
    """Run the program; a signal ends it in a line, until its command begins and hears signals."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's products here are small
    for name in _CODES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)
    from seqkit.cli import entry

    entry()


def _end(number: int, frame: FrameType | None) -> None:
    """End in a line: nothing was begun, and an exception within an import may come out as any."""
    name = signal.Signals(number).name
    said = "interrupted" if name == "SIGINT" else f"stopped by {name}"
    line = "\r\033[K" if os.isatty(2) else ""  # which may show progress
    if own_rank().leads:  # of several processes one speaks
        with contextlib.suppress(OSError):  # closed
            os.write(2, f"{line}seqkit: error: {said}: {NOT_BEGUN}\n".encode())
    os._exit(_CODES[name])


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # a Ctrl-C before there was anything that could say it
        sys.exit(130)
