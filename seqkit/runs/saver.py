"""Checkpoints are copied while a training waits, and written while it goes on."""

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from seqkit.foundation.errors import InsistedInterrupt
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder

_AT_ONCE = 2  # copies in memory: a training saves its best and its last one after the other


class Saver(contextlib.AbstractContextManager["Saver"]):
    """Writes the checkpoints of a run in threads, in the order in which they are given.

    After a failure nothing more is written, so that `best` is never older than `last`, and the
    training ends after its step. When the `with` block ends, what was given is written, however the
    block ends, unless an interrupt comes meanwhile: a disk may never answer. Then the process need
    not wait for it, either, as the threads are daemons; what is half written has another name.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._writing: list[threading.Thread] = []  # each waits for the one before it
        self._failure: BaseException | None = None

    def save(self, saved: Checkpoint) -> None:
        """Have `saved` become the last checkpoint.

        Raises OutputError: one of those before it could not be written, see `RunFolder.save`.
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
        self._wait_for_all_but(0)
        self.check()

    def _wait_for_all_but(self, count: int) -> None:
        while len(self._writing) > count:
            self._writing[0].join()
            del self._writing[0]

    def _begin(self, write: Callable[[Checkpoint], None], saved: Checkpoint) -> None:
        """Copy a checkpoint: from a GPU after what it was asked for before, without waiting."""
        self._wait_for_all_but(_AT_ONCE - 1)
        self.check()
        weights, others = _copies(saved.weights), _copies(saved.training_tensors)
        copy = dataclasses.replace(saved, weights=weights, training_tensors=others)
        copied = torch.cuda.Event() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
        if copied:
            copied.record()
        before = [*self._writing]

        def run() -> None:
            for thread in before:
                thread.join()
            try:
                if copied:
                    copied.synchronize()
                if self._failure is None:
                    write(copy)
            except BaseException as error:
                self._failure = error

        self._writing.append(threading.Thread(target=run, name="checkpoint", daemon=True))
        self._writing[-1].start()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Wait for the threads; a failure is raised unless the block has raised another.

        An interrupt meanwhile is raised at once.
        """
        try:
            if isinstance(error, InsistedInterrupt):
                raise error
            self._wait_for_all_but(0)
        except KeyboardInterrupt as interrupt:
            self._failure = self._failure or interrupt  # nothing more is begun
            raise
        if error is None:
            self.check()


def _copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: torch.empty_like(values, device="cpu", pin_memory=values.is_cuda).copy_(
            values.detach(), non_blocking=True
        )
        for name, values in tensors.items()
    }
