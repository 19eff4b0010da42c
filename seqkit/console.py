"""What a person sees: notices and progress on stderr, the product on stdout."""

import codecs
import contextlib
import io
import sys
import time
import unicodedata
from collections.abc import Iterator
from typing import IO, Protocol

from rich.console import Console as RichConsole
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from seqkit import disk, stdout

_LINE_EVERY = 10.0  # seconds between lines where there is no terminal
_STEPS_TO_JUDGE = 10  # before the time left is told: the first steps are slow
_SECONDS_TO_JUDGE = 1.0
_FLUSH_EVERY = 0.05  # seconds


class Bar(Protocol):
    """Something long that is under way."""

    def update(self, completed: int, text: str, important: bool = False) -> None:
        """Show where it stands; an important line is shown without a terminal, too."""


class Console:
    """Writes to stderr, or nowhere when quiet. stdout carries the product alone."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._rich = _Stderr(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)

    def notice(self, text: str) -> None:
        """One line that the user should know. It is no failure if nobody can read it any more."""
        with contextlib.suppress(OSError):
            self._rich.print(Text(escape(text)))

    @contextlib.contextmanager
    def progress(self, title: str, total: int, completed: int = 0) -> Iterator[Bar]:
        """A bar of `total` steps, animated on a terminal only."""
        if self._quiet or not self._rich.is_terminal:
            yield _Lines(self, title, total, completed)
            return
        display = Progress(
            TextColumn(title),
            BarColumn(bar_width=20),
            TextColumn("{task.completed}/{task.total}"),
            TextColumn("{task.fields[text]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=self._rich,
            transient=True,
        )
        with contextlib.suppress(OSError):
            display.start()
        try:
            yield _Animated(
                display, display.add_task(title, total=total, completed=completed, text="")
            )
        finally:
            # A terminal that was closed must not hide why the work comes to its end.
            with contextlib.suppress(OSError):
                display.stop()


class _Stderr(RichConsole):
    def on_broken_pipe(self) -> None:
        """Go on in silence."""
        self.quiet = True


class _Animated:
    def __init__(self, display: Progress, task: TaskID) -> None:
        self._display = display
        self._task = task

    def update(self, completed: int, text: str, important: bool = False) -> None:
        self._display.update(self._task, completed=completed, text=text)


class _Lines:
    """A line now and then, with the time left."""

    def __init__(self, console: Console, title: str, total: int, completed: int) -> None:
        self._console = console
        self._title = title
        self._total = total
        self._first = completed
        self._begun = time.monotonic()
        self._last = 0.0

    def update(self, completed: int, text: str, important: bool = False) -> None:
        now = time.monotonic()
        if not important and now - self._last < _LINE_EVERY:
            return
        self._last = now
        line = f"{self._title} {completed}/{self._total}  {text}"
        if completed - self._first >= _STEPS_TO_JUDGE and now - self._begun >= _SECONDS_TO_JUDGE:
            left = (now - self._begun) / (completed - self._first) * (self._total - completed)
            line += f"  {duration(left)} left"
        self._console.notice(line)


def duration(seconds: float) -> str:
    """Seconds as 0:42, 3:07 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Product:
    """What a command is for, on stdout: shown as it is made."""

    def __init__(self) -> None:
        # Python has no stdout where it was closed before the program began.
        self._stream: IO[bytes] = sys.stdout.buffer if sys.stdout else io.BytesIO()
        self.terminal = bool(sys.stdout) and sys.stdout.isatty()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._flushed = time.monotonic()

    def write(self, text: str | bytes) -> None:
        """Bytes as they are, text as UTF-8; on a terminal control characters are escaped.

        Raises:
            BrokenPipeError: nobody reads any more.
            OutputError: stdout cannot be written.
        """
        if self.terminal:
            text = escape(self._decoder.decode(text) if isinstance(text, bytes) else text)
        with stdout.failures():
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
        with stdout.failures():
            self._stream.flush()
        self._flushed = time.monotonic()


def escape(text: str) -> str:
    """A text with its control characters, newline and tab excepted, and stray bytes visible."""
    return "".join(
        repr(c)[1:-1] if unicodedata.category(c) == "Cc" and c not in "\n\t" else c
        for c in disk.shown(text)
    )


def to_bytes(text: str | bytes) -> bytes:
    """Text as UTF-8, lone surrogates included; bytes as they are."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
