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

_AT_ONCE = 2  # copies in memory: a training saves its best and its last one after the other


class Saver:
    """Writes the checkpoints of a run in a thread, in the order in which they are given.

    After a failure nothing more is written, so that `best` is never older than `last`, and the
    training ends after its step. When the
    `with` block ends, what was given is written, however the block ends, but for a second
    interrupt: a disk may never answer. Then the process need not wait for it, either, as the thread
    is a daemon; what is half written has another name.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._given: queue.Queue[Callable[[], None] | None] = queue.Queue()  # None: no more come
        self._free = threading.Semaphore(_AT_ONCE)
        self._ended = threading.Event()
        self._failure: BaseException | None = None

    def save(self, saved: Checkpoint) -> None:
        """Have `saved` become the last checkpoint.

        Raises:
            OutputError: one of those before it could not be written, see `RunFolder.save`.
        """
        self._begin(self._folder.save, saved)

    def save_best(self, saved: Checkpoint) -> None:
        """Have `saved` become the best checkpoint. Raises as `save`."""
        self._begin(self._folder.save_best, saved)

    def check(self) -> None:
        """Raise what a save has failed with, without waiting for any."""
        if self._failure is not None:
            raise self._failure

    def wait(self) -> None:
        """Wait until everything is written. Raises as `save`."""
        self._given.join()
        self.check()

    def _begin(self, write: Callable[[Checkpoint], None], saved: Checkpoint) -> None:
        """Copy a checkpoint: from a GPU after what it was asked for before, without waiting."""
        self._free.acquire()
        self.check()
        weights, others = _copies(saved.weights), _copies(saved.training_tensors)
        copy = dataclasses.replace(saved, weights=weights, training_tensors=others)
        copied = torch.cuda.Event() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
        if copied:
            copied.record()

        def when_copied() -> None:
            if copied:
                copied.synchronize()
            write(copy)

        self._given.put(when_copied)

    def _write_all(self) -> None:
        for write in iter(self._given.get, None):
            try:
                if self._failure is None:
                    write()
            except BaseException as error:
                self._failure = error
            del write  # and its memory
            self._free.release()
            self._given.task_done()
        self._given.task_done()
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
        interrupts = [error] if isinstance(error, KeyboardInterrupt) else []
        insisted = isinstance(error, InsistedInterrupt)
        while not (self._ended.is_set() or insisted):
            try:
                self._ended.wait()
            except KeyboardInterrupt as interrupt:
                interrupts.append(interrupt)
                insisted = len(interrupts) > 1
        if insisted:
            self._failure = self._failure or interrupts[-1]  # nothing more is begun
            raise interrupts[-1]
        if error is None:
            self.check()
            if interrupts:
                raise interrupts[0]


def _copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: torch.empty_like(values, device="cpu", pin_memory=values.is_cuda).copy_(
            values.detach(), non_blocking=True
        )
        for name, values in tensors.items()
    }
