"""A training that was set up is run to its end, and its observers are told of everything."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from seqkit.api.run_files import record, report, summary, write_sample
from seqkit.foundation import device, disk
from seqkit.foundation.config_file import to_yaml
from seqkit.foundation.console import Notice
from seqkit.foundation.errors import NOT_BEGUN, DataError, DivergedError, StoppedError
from seqkit.foundation.machine import shared_cores
from seqkit.model.arrays import count_parameters
from seqkit.runs import resume
from seqkit.runs.events import Diverged, Event, Finished, Started, Stopped, describe, go_on_with
from seqkit.runs.record import State
from seqkit.runs.saver import Saver
from seqkit.stages.network import SMALLER
from seqkit.stages.training import Training
from seqkit.training.events import CheckpointDue, SampleDue, Stepped, Trained, Validated

_STATES: dict[type, State] = {
    Started: "running",
    Stopped: "stopped",
    Diverged: "diverged",
    Finished: "finished",
}
"""How a run stands after an event, as its report says."""


def run_training(
    training: Training,
    observers: Sequence[Callable[[Event], object]],
    notice: Notice,
    stop: Callable[[], str | None] = lambda: None,
) -> None:
    """Train to the end, and write what a run leaves.

    The observers are told of every event, and `notice` of what no event tells. `stop` is asked
    after each step; a reason ends the training, its state saved.

    Raises:
        StoppedError: `stop` gave a reason.
        DataError: the data cannot be read any more. The state is saved if this process is alone.
        DivergedError: the loss is not finite any more.
        DeviceError: the persistent kernel gave up.
    """
    trainer = training.trainer
    with device.memory_errors(SMALLER):
        if reason := trainer.prepare():
            notice(reason)
        with Saver(training.claim.folder) as saver:
            initialise_run_folder(training, saver)
            running = _Running(training, saver, observers, notice, stop)
            running.start()
            running.train()
            saver.wait()
            running.finish()


@dataclass(frozen=True)
class _Running:
    """A training on its way: it tells its observers, and asks whether it is to stop."""

    training: Training
    saver: Saver
    observers: Sequence[Callable[[Event], object]]
    notice: Notice
    stop: Callable[[], str | None]

    def _tell(self, event: Event) -> None:
        """Write what is due at an event, and tell the observers of it: in the first process."""
        training, notice = self.training, self.notice
        if not training.ranks.leads:
            if isinstance(event, CheckpointDue):  # rank 0 saves the state of these lanes, too
                training.trainer.state()
            return
        record(training.claim.folder, event)
        self._keep(event)
        for observer in self.observers:
            observer(event)
        if isinstance(event, SampleDue) and (made := write_sample(training, event.step, notice)):
            self._tell(made)
        if state := _STATES.get(type(event)):
            report(training, state, notice)

    def start(self) -> None:
        """Tell that the training begins, or goes on."""
        training, corpus = self.training, self.training.data.corpus
        self._tell(
            Started(
                step=training.trainer.progress.step,
                total_steps=training.trainer.total_steps,
                symbols=len(corpus.whole),
                data=corpus.name,
                vocabulary=corpus.codec.size,
                parameters=count_parameters(training.trainer.model.config),
                device=device.describe(training.device, training.ranks.rank),
                precision=training.trainer.execution.precision,
                run_dir=training.claim.folder.path,
            )
        )

    def train(self) -> None:
        """Train to the end. Raises as `run_training`."""
        trainer, ranks = self.training.trainer, self.training.ranks
        # Processes ask each other where they wait for each other anyway; a CPU always does.
        asks = ranks.alone or self.training.device.type == "cpu"
        # Processes that computed in other threads would round otherwise, and drift apart.
        threads = None if ranks.alone else torch.get_num_threads()
        with shared_cores(self.training.device, exactly=threads) as adapt:
            try:
                reported = False
                for event in trainer.run():
                    adapt()
                    self._tell(event)
                    reported = reported or isinstance(event, Trained)
                    if isinstance(event, Stepped) and (asks or reported):
                        if reason := ranks.first(self.stop()):
                            raise StoppedError(self._save_and_stop(reason))
                        reported = False
            except DivergedError as error:
                self._tell(Diverged(trainer.progress.step, str(error)))
                raise
            except DataError as error:
                if not ranks.leads:  # rank 0 tells of it
                    raise
                # Other processes do not know of it, and cannot save with this one.
                saved = self._save_and_stop("an error of the data") if ranks.alone else None
                raise DataError(f"{error}\n{saved or advice(self.training)}") from error

    def finish(self) -> None:
        """Write summary.json, and tell that the training is over."""
        training, progress = self.training, self.training.trainer.progress
        if training.ranks.leads:
            training.claim.folder.write_json(training.claim.folder.summary, summary(training))
        self._tell(
            Finished(
                step=progress.step,
                seconds=training.trainer.elapsed,
                best_loss=progress.best_loss,
                run_dir=training.claim.folder.path,
                plugins=training.session.catalogue.modules,
            )
        )

    def _keep(self, event: Event) -> None:
        """Save `best` after each improvement, `last` and `previous` when it is time.

        Without a validation part, the last checkpoint is the best one. Raises OutputError, also if
        what was due before is not written.
        """
        training, saver = self.training, self.saver
        match event:
            case Validated(improved=True):
                saver.save_best(training.best())
            case CheckpointDue():
                if not len(training.data.validation):  # first: a kill may leave it alone
                    saver.save_best(training.best())
                saver.save(training.checkpoint())
            case Stepped():
                saver.check()

    def _save_and_stop(self, reason: str) -> str | None:
        """Save the state, and tell that the training stops: in words."""
        training = self.training
        _save(training, self.saver)
        step, plugins = training.trainer.progress.step, training.session.catalogue.modules
        stopped = Stopped(step, reason, training.claim.folder.path, plugins, training.ranks.rank)
        self._tell(stopped)
        return describe(stopped)


def initialise_run_folder(training: Training, saver: Saver) -> None:
    """Put the run's folder in order, and save the state, from which on it is a run.

    However a training ends from then on, the run goes on with the settings that it has now.
    """
    folder, saved = training.claim.folder, training.claim.saved
    if training.ranks.leads:
        folder.make()
        if saved is None:
            folder.clear()  # a run that overwrite=true replaces
        else:
            resume.set_aside(folder, saved, training.session.notice)
    if saved is None or training.claim.changed:
        _save(training, saver)
    if training.ranks.leads:
        disk.write(folder.config, to_yaml(training.config).encode("utf-8", "surrogateescape"))
        folder.is_begun = True
        folder.reopen(training.trainer.progress.step)


def _save(training: Training, saver: Saver) -> None:
    """Save the state that all processes have, and wait until it is written."""
    state = training.checkpoint()
    if training.ranks.leads:
        saver.save(state)
        saver.wait()


def advice(training: Training) -> str:
    """What is left of a training that ended at once, and how to go on."""
    folder = training.claim.folder
    if not folder.is_begun:
        return NOT_BEGUN.capitalize()
    again = go_on_with(folder.path, training.session.catalogue.modules, training.ranks.rank)
    return f"The run's last checkpoint is whole. To go on: {again}"
