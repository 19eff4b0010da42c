"""A training in which the persistent kernel may give up: cuDNN goes on, and nothing is lost."""

from collections.abc import Callable, Iterator

from seqkit.foundation.errors import GaveUpError
from seqkit.training.events import CheckpointDue, Event
from seqkit.training.trainer import Trainer


def run_or_fall_back(
    trainer: Trainer, watch: Callable[[int], None], notice: Callable[[str], None]
) -> Iterator[Event]:
    """The events of `trainer.run(watch)`.

    If the kernel gives up, which `notice` is told, cuDNN makes the step that it did not make.

    Raises:
        GaveUpError: it gave up, and was asked for by name.
    """
    try:
        yield from trainer.run(watch)
        return
    except GaveUpError as error:
        if trainer.model.config.backend == "persistent":
            raise GaveUpError(f"{error}: train with model.backend=cudnn") from error
        told = str(error)
    trainer.leave_persistent_kernel()  # out of reach of the error, which holds the old step
    notice(f"{told}: cuDNN goes on after step {trainer.progress.step}")
    yield CheckpointDue(trainer.progress.step)  # before `prepare`, which needs memory
    if reason := trainer.prepare():
        notice(reason)
    yield from trainer.run(watch)
