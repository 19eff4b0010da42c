"""Checkpoints are copied while a training waits, and written while it goes on."""

import dataclasses
import queue
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

import torch
from torch import Tensor

from seqkit.foundation.errors import InsistedInterrupt
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder


class Saver:
    """Writes the checkpoints of a run in a thread, in the order in which they are given.

    Both kinds, `last` and `best`, are copied into memory of their own, which is kept: a save waits
    for the one before it of the same kind. After a failure nothing more is written, so that `best`
    is never older than `last`. When the `with` block ends, what was given is written, however the
    block ends, but for a second interrupt: a disk may never answer. Then the process need not wait
    for it, either, as the thread is a daemon; what is half written has another name.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._last = _Slot(folder.save)
        self._best = _Slot(folder.save_best)
        self._given: queue.SimpleQueue[_Slot | None] = queue.SimpleQueue()  # None: no more come
        self._ended = threading.Event()
        self._failure: BaseException | None = None

    def save(self, saved: Checkpoint) -> None:
        """Have `saved` become the last checkpoint.

        Raises:
            OutputError: one of those before it could not be written, see `RunFolder.save`.
        """
        self._begin(self._last, saved)

    def save_best(self, saved: Checkpoint) -> None:
        """Have `saved` become the best checkpoint. Raises as `save`."""
        self._begin(self._best, saved)

    def check(self) -> None:
        """Raise what a save has failed with, without waiting for any."""
        if self._failure is not None:
            raise self._failure

    def wait(self) -> None:
        """Wait until everything is written. Raises as `save`."""
        for kind in (self._best, self._last):
            kind.written.wait()
        self.check()

    def _begin(self, kind: "_Slot", saved: Checkpoint) -> None:
        kind.written.wait()
        self.check()
        kind.copy(saved)
        kind.written.clear()
        self._given.put(kind)

    def _write_all(self) -> None:
        for kind in iter(self._given.get, None):
            if self._failure is None:
                try:
                    kind.write()
                except BaseException as error:
                    self._failure = error
            kind.written.set()
        self._ended.set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._write_all, name="checkpoints", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for the thread; a failure is raised unless the block has raised another.

        The first interrupt is raised when all is written, a second one at once.
        """
        self._given.put(None)
        first = error if isinstance(error, KeyboardInterrupt) else None
        while not self._ended.is_set():
            if isinstance(first, InsistedInterrupt):
                self._failure = self._failure or first  # nothing more is begun
                break
            try:
                self._ended.wait()
            except KeyboardInterrupt as interrupt:
                if first is not None:
                    self._failure = self._failure or interrupt
                    raise
                first = interrupt
        if error is None:
            self.check()
            if first is not None:
                raise first


class _Slot:
    """The checkpoint that is written, in memory that is kept for the next one."""

    def __init__(self, write: Callable[[Checkpoint], None]) -> None:
        self.written = threading.Event()
        """Whether the copy is written, or was given up."""
        self.written.set()
        self._write_copy = write
        self._kept: dict[str, Tensor] = {}
        self._copy: Checkpoint | None = None
        self._copied: torch.cuda.Event | None = None

    def copy(self, saved: Checkpoint) -> None:
        """Copy a checkpoint: from a GPU after what it was asked for before, without waiting."""
        weights = self._copies("weights.", saved.weights)
        others = self._copies("training.", saved.training_tensors)
        self._copy = dataclasses.replace(saved, weights=weights, training_tensors=others)
        on_gpu = [values.device for values in saved.weights.values() if values.is_cuda]
        if on_gpu:
            self._copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._copied.record(torch.cuda.current_stream(on_gpu[0]))

    def _copies(self, prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        copies = {}
        for name, values in tensors.items():
            kept = self._kept.get(prefix + name)
            if kept is None:
                kept = torch.empty(values.shape, dtype=values.dtype, pin_memory=values.is_cuda)
                self._kept[prefix + name] = kept
            copies[name] = kept.copy_(values.detach(), non_blocking=values.is_cuda)
        return copies

    def write(self) -> None:
        """Write the copy, once it is there."""
        assert self._copy is not None
        if self._copied is not None:
            self._copied.synchronize()
        self._write_copy(self._copy)
