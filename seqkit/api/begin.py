"""The folder of a run, put in order for the training that begins or goes on."""

from seqkit.api.prepare_training import Notice, Training
from seqkit.foundation.errors import NOT_BEGUN
from seqkit.foundation.wording import counted
from seqkit.runs import resume
from seqkit.runs.checkpoint_file import peek
from seqkit.runs.events import go_on_with
from seqkit.runs.saver import Saver


def begin(training: Training, saver: Saver, notice: Notice) -> None:
    """Put the run's folder in order, and save the state, from which on it is a run.

    However a training ends from then on, the run goes on with the settings that it has now.
    """
    folder, found = training.folder, training.found
    if training.ranks.leads:
        folder.make()
        training.ranks.advise(lambda: advice(training))
        if found is None:
            folder.clear()  # a run that overwrite=true replaces
        else:
            resume.set_aside(found.damaged)
        if training.judged_anew:
            resume.keep_best(folder.files, notice)
    if found is None or training.changed:
        state = training.checkpoint()
        if training.ranks.leads:
            saver.save(state)
            saver.wait()
    if training.ranks.leads:
        folder.write_config(training.config)
        if damaged := folder.reopen(training.trainer.progress.step):
            lines = counted(damaged, "damaged line")
            notice(f"{folder.files.metrics}: {lines} left out")
    best, progress = folder.files.checkpoint("best"), training.trainer.progress
    if progress.best_loss is not None and not training.ranks.shared(lambda: peek(best) is not None):
        progress.forget_best()
        notice(f"{best} is missing or damaged: the next validation chooses it anew")


def advice(training: Training) -> str:
    """What is left of a training that ended at once, and how to go on."""
    folder = training.folder
    if not folder.is_begun:
        return NOT_BEGUN.capitalize()
    again = go_on_with(folder.path, training.catalogue.modules, training.ranks.place)
    return f"The run's last checkpoint is whole. To go on: {again}"
