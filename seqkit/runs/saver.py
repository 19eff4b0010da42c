"""Checkpoints are copied while a training waits, and written while it goes on."""

import dataclasses
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

import torch
from torch import Tensor

from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder


class Saver:
    """Writes the checkpoints of a run in a thread, in the order in which they are given.

    Both kinds, `last` and `best`, are copied into memory of their own, which is kept: a save waits
    for the one before it of the same kind. After a failure nothing more is written, so that `best`
    is never older than `last`. When the `with` block ends, however it does, the thread has ended.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._last = _Kind(folder.save)
        self._best = _Kind(folder.save_best)
        self._thread = ThreadPoolExecutor(1, "checkpoints")
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
        self._settle()
        self.check()

    def _settle(self) -> None:
        for kind in (self._best, self._last):
            kind.wait()

    def _begin(self, kind: "_Kind", saved: Checkpoint) -> None:
        kind.wait()
        self.check()
        kind.copy(saved)
        kind.writing = self._thread.submit(self._write, kind)

    def _write(self, kind: "_Kind") -> None:
        if self._failure is None:
            try:
                kind.write()
            except BaseException as error:
                self._failure = error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for the thread; a failure is raised unless the block has raised another."""
        interrupted: KeyboardInterrupt | None = None
        while True:
            try:
                self._settle()
                break
            except KeyboardInterrupt as again:  # the folder is still this run's: finish the file
                interrupted = again
        self._thread.shutdown()
        if error is None:
            self.check()
            if interrupted is not None:
                raise interrupted


class _Kind:
    """The checkpoint that is written, in memory that is kept for the next one."""

    def __init__(self, write: Callable[[Checkpoint], None]) -> None:
        self.writing: Future[None] | None = None
        self._write_copy = write
        self._kept: dict[str, Tensor] = {}
        self._copy: Checkpoint | None = None
        self._copied: torch.cuda.Event | None = None

    def wait(self) -> None:
        """Wait until the copy is written, or was given up."""
        if self.writing is not None:
            self.writing.result()

    def copy(self, saved: Checkpoint) -> None:
        """Copy a checkpoint: from a GPU after what it was asked for before, without waiting."""
        self._copy = dataclasses.replace(
            saved,
            weights=self._copies("weights.", saved.weights),
            training_tensors=self._copies("training.", saved.training_tensors),
        )
        on_gpu = [own.device for own in saved.weights.values() if own.is_cuda]
        if on_gpu:
            self._copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._copied.record(torch.cuda.current_stream(on_gpu[0]))

    def _copies(self, prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        copies = {}
        for name, own in tensors.items():
            kept = self._kept.get(prefix + name)
            if kept is None:
                kept = torch.empty(own.shape, dtype=own.dtype, pin_memory=own.is_cuda)
                self._kept[prefix + name] = kept
            copies[name] = kept.copy_(own.detach(), non_blocking=own.is_cuda)
        return copies

    def write(self) -> None:
        """Write the copy, once it is there."""
        assert self._copy is not None
        if self._copied is not None:
            self._copied.synchronize()
        self._write_copy(self._copy)
