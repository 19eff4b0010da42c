"""A program on a pseudo-terminal, and what a person sees of it."""

import codecs
import fcntl
import os
import re
import struct
import subprocess
import termios
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import environment

_ROWS = 24
_PARTS = re.compile(r"\x1b\[([\d;?]*)([A-Za-z])|(.)", re.S)


class Screen:
    """The text of a terminal that breaks its lines anew when its width changes.

    It knows what seqkit writes: text, newline, carriage return, erasing, colours.
    """

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self._lines: list[list[str]] = [[]]  # a cell each; the second one of a wide character is ""
        self._cell = 0  # of the cursor, in the last line

    def feed(self, text: str) -> None:
        """Show what a program wrote."""
        for found in _PARTS.finditer(text):
            code, kind, character = found.groups()
            line = self._lines[-1]
            if kind is not None:
                if (code, kind) == ("", "J"):
                    del line[self._cell :]
                elif (code, kind) == ("", "K"):  # to the end of the row alone
                    end = self._cell - self._cell % self.columns + self.columns
                    line[self._cell : end] = [" "] * len(line[self._cell : end])
                elif kind != "m":
                    raise AssertionError(f"no such code is known: {found.group()!r}")
            elif character == "\n":
                self._lines.append([])
                self._cell = 0
            elif character == "\r":
                self._cell -= self._cell % self.columns  # the row's beginning, not the line's
            else:
                wide = unicodedata.east_asian_width(character) in "WF"
                cells = [character, ""][: 0 if unicodedata.combining(character) else 1 + wide]
                line += [" "] * (self._cell - len(line))
                line[self._cell : self._cell + len(cells)] = cells
                self._cell += len(cells)

    @property
    def rows(self) -> list[str]:
        """The rows as they are seen, without empty ones at the end."""
        found = []
        for line in self._lines:
            parts = range(0, max(len(line), 1), self.columns)
            found += ["".join(line[begin : begin + self.columns]) for begin in parts]
        while found and not found[-1].strip():
            found.pop()
        return found


class Terminal:
    """A pseudo-terminal, the program on it, and its screen."""

    def __init__(self, side: int, program: "subprocess.Popen[bytes]", columns: int) -> None:
        self.program = program
        self.screen = Screen(columns)
        self._side = side
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self) -> bool:
        """Show what was written meanwhile; False once the program has ended."""
        try:
            content = os.read(self._side, 1 << 16)
        except OSError:  # Linux, when nobody has the other side open
            return False
        self.screen.feed(self._decoder.decode(content))  # a read may cut a character
        return bool(content)


@contextmanager
def on_terminal(
    program: Sequence[str],
    columns: int,
    cwd: Path,
    stdout: int | None = subprocess.DEVNULL,
    *,
    whole: bool = False,
) -> Iterator[Terminal]:
    """Run a program whose stderr is a terminal, and end it with the block.

    With `whole` its stdout is the terminal, too.
    """
    side, other = os.openpty()
    set_size(side, columns)
    try:
        with subprocess.Popen(
            program,
            cwd=cwd,
            env={**environment(), "TERM": "xterm"},
            stderr=other,
            stdout=other if whole else stdout,
        ) as running:
            os.close(other)
            try:
                yield Terminal(side, running, columns)
            finally:
                running.kill()
    finally:
        os.close(side)


def set_size(side: int, columns: int) -> None:
    """Give a pseudo-terminal so many columns."""
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
