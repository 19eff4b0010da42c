"""stdout, which may be full, read by nobody any more, or closed from the beginning.

It is for the product alone: what plug-ins print goes to stderr.
"""

import codecs
import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import TextIO

from seqkit.foundation import disk
from seqkit.foundation.errors import OutputError
from seqkit.foundation.wording import visible

_FLUSH_EVERY = 0.05  # seconds


def existing() -> TextIO:
    """The process's stdout. Raises OutputError where there is none: before any work is in vain."""
    opened = sys.__stdout__
    if opened is None:  # it was closed before the program began
        raise OutputError("stdout is closed (>&-), and the result goes there: leave it open")
    return opened


def write(text: str) -> None:
    """Write a text and a newline, the names of files byte for byte. Raises as `Product` does."""
    product = Product()
    product.write(f"{text}\n".encode("utf-8", "surrogateescape"))
    product.flush()


class Product:
    """What a command is for, on stdout: shown as it is made."""

    def __init__(self) -> None:
        """Raises OutputError where stdout was closed before the program began."""
        out = existing()
        self._stream = out.buffer
        self.terminal = out.isatty()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._flushed = time.monotonic()

    def write(self, text: str | bytes) -> None:
        """Bytes as they are, text as UTF-8; on a terminal nothing hides: see `visible`.

        Raises:
            BrokenPipeError: nobody reads any more.
            OutputError: stdout cannot be written.
        """
        if self.terminal:
            text = visible(self._decoder.decode(text) if isinstance(text, bytes) else text)
        with self._failures():
            self._stream.write(to_bytes(text))
        if self.terminal or time.monotonic() - self._flushed > _FLUSH_EVERY:
            self.flush()

    def end(self) -> None:
        """The last of it; a terminal's prompt goes to a new line."""
        if self.terminal:
            self.write(b"\n")
        self.flush()

    def flush(self) -> None:
        """Hand over what was written. Raises as `write`."""
        with self._failures():
            self._stream.flush()
        self._flushed = time.monotonic()

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())  # for what Python flushes at its exit
            os.close(nowhere)
            if isinstance(error, BrokenPipeError):
                raise
            raise OutputError(f"cannot write stdout: {disk.describe(error)}") from error


def to_bytes(text: str | bytes) -> bytes:
    """Text as UTF-8, lone surrogates included; bytes as they are."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
