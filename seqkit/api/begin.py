"""The folder of a run, put in order for the training that begins or goes on."""

from seqkit.api.prepare_training import Notice, Training
from seqkit.api.snapshots import best_of, checkpoint_of
from seqkit.foundation.errors import NOT_BEGUN
from seqkit.foundation.wording import counted
from seqkit.runs import earlier, saved_states
from seqkit.runs.events import go_on_with
from seqkit.runs.saver import Saver


def begin(training: Training, saver: Saver, notice: Notice) -> None:
    """Put the run's folder in order for the training that begins."""
    if training.ranks.leads:
        _open_folder(training, notice)
    _renew_best(training, saver, notice)
    if training.forced:
        _save_settings(training, saver)


def _open_folder(training: Training, notice: Notice) -> None:
    """Make the run's folder, or take back what was recorded there after the last checkpoint."""
    folder, config = training.folder, training.config
    folder.make()
    training.ranks.advise(lambda: advice(training))
    if training.found is not None:
        saved_states.settle(folder.files, training.found, notice)
    replaces = config.overwrite and config.resume == "never"
    if not replaces:
        earlier.keep(folder.files)
    if not training.forced:
        folder.write_config(config, replace=replaces)
    if damaged := folder.reopen(training.trainer.progress.step):
        lines = counted(damaged, "damaged line")
        notice(f"{folder.files.metrics}: {lines} left out")


def _save_settings(training: Training, saver: Saver) -> None:
    """Let the state that is saved, and then the config, have settings that are forced on the run.

    However it ends from then on, the two agree: the run goes on without being forced again.
    """
    state = checkpoint_of(training)
    if training.ranks.leads:
        saver.save(state)
        saver.wait()
        training.folder.write_config(training.config)


def _renew_best(training: Training, saver: Saver, notice: Notice) -> None:
    """Have `best` again where a run goes on and that file is lost."""
    files, progress = training.folder.files, training.trainer.progress
    validates = len(training.validation) > 0
    known = progress.best_loss is not None or not validates
    if not progress.step or not known:
        return
    if training.ranks.shared(lambda: saved_states.has_best(files, progress.best_step)):
        return
    lost = f"{files.checkpoint('best')} is missing, damaged or an old one"
    if validates and progress.best_step != progress.step:
        progress.forget_best()
        notice(f"{lost}: the next validation chooses it anew")
    elif training.ranks.leads:
        saver.save_best(best_of(training))
        notice(f"{lost}: it is saved anew")


def advice(training: Training) -> str:
    """What is left of a training that ended at once, and how to go on."""
    folder, plugins = training.folder, training.catalogue.modules
    if not folder.is_begun:
        return NOT_BEGUN.capitalize()
    again = go_on_with(folder.path, plugins, training.ranks.place)
    if folder.files.has_checkpoints:
        return f"The run's last checkpoint is whole. To go on: {again}"
    return f"No checkpoint was saved yet. To begin anew: {again}"
