"""A training in which the persistent kernel may give up: cuDNN goes on, and nothing is lost."""

from collections.abc import Callable, Iterator

from seqkit.foundation.errors import GaveUpError
from seqkit.training.events import CheckpointDue, Event
from seqkit.training.trainer import Trainer


def events(
    trainer: Trainer, watch: Callable[[int], None], notice: Callable[[str], None]
) -> Iterator[Event]:
    """Those of `Trainer.run`, whose argument `watch` is.

    Where the kernel gives up, which `notice` is told, cuDNN makes the step that it did not make.

    Raises:
        GaveUpError: it gave up, and was asked for by name.
    """
    try:
        yield from trainer.run(watch)
        return
    except GaveUpError as error:
        if trainer.model.config.backend == "persistent":
            raise GaveUpError(f"{error}: train with model.backend=cudnn") from error
        trainer.leave_persistent_kernel()
        notice(f"{error}: cuDNN goes on after step {trainer.progress.step}")
    if reason := trainer.prepare():
        notice(reason)
    yield CheckpointDue(trainer.progress.step)
    yield from trainer.run(watch)
