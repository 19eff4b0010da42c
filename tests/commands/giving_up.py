"""Run by torchrun: the command, with a persistent kernel that gives up in its last process."""

from seqkit import cli
from seqkit.foundation.processes import own_rank
from seqkit.training.step import TrainingStep

STEP = 24

_run = TrainingStep.run


def give_up(stepper: TrainingStep, step: int, rate: float) -> int:
    """Make a step, in which the kernel may give up."""
    last = own_rank().number == own_rank().size - 1
    if step == STEP and last and stepper._gave_up is not None:
        stepper._gave_up.fill_(1)
    return _run(stepper, step, rate)


if __name__ == "__main__":
    TrainingStep.run = give_up  # type: ignore[assignment]
    cli.entry()
