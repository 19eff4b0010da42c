"""How far the reading of data has come, shown pass by pass."""

import contextlib
from collections.abc import Iterator

from seqkit.foundation.console import Bar, Progress, unseen


class Meter:
    """Counts bytes, and shows them while something is read."""

    def __init__(self, progress: Progress = unseen) -> None:
        self._progress = progress
        self._bar: Bar | None = None
        self._read = 0

    @contextlib.contextmanager
    def shown(self, title: str, total: int) -> Iterator[None]:
        """Show what is added within the block, of `total` bytes."""
        with self._progress(title, total, unit="MB") as self._bar:
            self._read = 0
            yield
        self._bar = None

    def add(self, count: int) -> None:
        """So many more bytes were read."""
        self._read += count
        if self._bar:
            self._bar.update(self._read)
