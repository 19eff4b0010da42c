"""A training that was set up is run to its end, and its observers are told of everything."""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from seqkit.advice.run_page import Report
from seqkit.api.run_files import about_run, measure_eight_bits, sample, summary
from seqkit.data.codecs import Codec, Quantiser
from seqkit.evaluation.recited import Index
from seqkit.evaluation.recording import Recording
from seqkit.foundation import machine
from seqkit.foundation.config_file import to_yaml
from seqkit.foundation.errors import (
    NOT_BEGUN,
    DataError,
    DeviceError,
    DivergedError,
    GaveUpError,
    StoppedError,
)
from seqkit.foundation.session import Notice
from seqkit.foundation.threads import shared_cores
from seqkit.foundation.wording import counted
from seqkit.generation.request import request_of
from seqkit.runs import resume
from seqkit.runs.checkpoint_bytes import peek
from seqkit.runs.events import (
    Diverged,
    Event,
    Finished,
    Started,
    Stopped,
    Validating,
    describe,
    go_on_with,
)
from seqkit.runs.observers import Checkpoints, Observer, Observers, Records, Samples
from seqkit.runs.saver import Saver
from seqkit.runs.tensorboard import TensorBoard
from seqkit.stages.training import Training
from seqkit.symbols import Integers
from seqkit.training.events import CheckpointDue, Stepped, Trained
from seqkit.training.giving_up import run_or_fall_back

_PACE_KNOWN = 20  # steps
_INDEXED = 1 << 28  # symbols at most: the index of more would take minutes


def run_training(
    training: Training,
    observers: Sequence[Observer],
    notice: Notice,
    stop: Callable[[], str | None] = lambda: None,
) -> None:
    """Train to the end, and write what a run leaves.

    Args:
        training: what `stages.training.set_up` gives.
        observers: told of every event, beside those that write the run's files.
        notice: told what no event tells.
        stop: asked after each step and within validations; a reason ends the training, its state
            saved.

    Raises:
        StoppedError: `stop` gave a reason.
        DataError: the data cannot be read any more. The state is saved if this process is alone.
        DivergedError: the loss is not finite any more.
        DeviceError: the persistent kernel, asked for by name, gave up. The state before the step in
            which it did is saved.
    """
    trainer = training.trainer
    with machine.memory_errors(training.memory_advice):
        if reason := trainer.prepare():
            notice(reason)
        with Saver(training.folder) as saver:
            _run(training, saver, observers, notice, stop)


def _run(
    training: Training,
    saver: Saver,
    observers: Sequence[Observer],
    notice: Notice,
    stop: Callable[[], str | None],
) -> None:
    trainer, folder, ranks = training.trainer, training.folder, training.ranks
    followers = Observers()

    def contribute(event: Event) -> None:  # to rank 0's checkpoint: the state of its lanes
        if isinstance(event, CheckpointDue):
            trainer.state()

    initialise_run_folder(training, saver, notice)
    if ranks.leads:
        writers = _writers(training, saver, followers.tell, notice)
        report = Report(folder, lambda: about_run(training), notice)
        followers.add([*writers, *observers, _Forecast(training, notice), report])
    else:
        followers.add([contribute])
    followers.tell(_started(training))

    def save_and_stop(reason: str) -> str | None:
        saved = training.checkpoint()
        if ranks.leads:
            saver.save(saved)
            saver.wait()
        step, plugins = trainer.progress.step, training.session.catalogue.modules
        stopped = Stopped(step, reason, folder.path, plugins, ranks.rank)
        followers.tell(stopped)
        return describe(stopped)

    def stop_if_asked() -> None:
        if reason := ranks.first(stop()):
            raise StoppedError(save_and_stop(reason))

    def watch(scored: int) -> None:
        followers.tell(Validating(trainer.progress.step, scored, trainer.progress.scored or 0))
        stop_if_asked()

    # Processes ask each other where they wait for each other anyway; a CPU always does.
    asks = ranks.alone or training.device.type == "cpu"
    # Processes that computed in other threads would round otherwise, and drift apart.
    with shared_cores(
        training.device, exactly=None if ranks.alone else torch.get_num_threads()
    ) as adapt:
        try:
            reported = False
            for event in run_or_fall_back(trainer, watch, notice):
                adapt()
                followers.tell(event)
                reported = reported or isinstance(event, Trained)
                if isinstance(event, Stepped) and (asks or reported):
                    stop_if_asked()
                    reported = False
        except DivergedError as error:
            followers.tell(Diverged(trainer.progress.step, str(error)))
            raise
        except GaveUpError as error:
            raise DeviceError(f"{error}\n{save_and_stop('an error of the GPU')}") from error
        except DataError as error:
            if not ranks.leads:  # rank 0 tells of it
                raise
            # Other processes do not know of it, and cannot save with this one.
            left = save_and_stop("an error of the data") if ranks.alone else advice(training)
            raise DataError(f"{error}\n{left}") from error
    saver.wait()
    _finish(training, followers)


def _finish(training: Training, followers: Observers) -> None:
    trainer, folder, progress = training.trainer, training.folder, training.trainer.progress
    if training.ranks.leads:
        folder.write_json(folder.summary, summary(training, measure_eight_bits(training)))
    followers.tell(
        Finished(
            step=progress.step,
            seconds=trainer.elapsed,
            best_loss=progress.best_loss,
            scored=progress.scored or len(training.validation),
            total=len(training.validation),
            run_dir=folder.path,
            plugins=training.session.catalogue.modules,
            lines=training.config.data.document == "line",
        )
    )


class _Forecast:
    """Says once, early in a training by the clock, if its time will not do for its data."""

    def __init__(self, training: Training, notice: Notice) -> None:
        self._train, self._notice, self._enough = training.config.train, notice, training.enough

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Trained) or event.step < _PACE_KNOWN:
            return
        enough, self._enough = self._enough, None
        minutes, forecast = self._train.max_minutes, event.symbols / event.step * event.total_steps
        if enough and minutes and not self._train.max_steps and forecast < enough:
            self._notice(
                f"in {counted(minutes, 'minute')} this machine will read about "
                f"{forecast / 1e6:.2g} million symbols; what it makes may not sound like the "
                f"recording before it has read {enough / 1e6:.2g} million: give "
                f"train.max_minutes={math.ceil(minutes * enough / forecast)} or more"
            )


def _writers(training: Training, saver: Saver, tell: Observer, notice: Notice) -> list[Observer]:
    """Those that make the files of the run."""
    folder, config = training.folder, training.config
    medium, prompt = training.closing.medium, training.closing.prompt

    def glimpse() -> Integers:
        length = medium.glimpse if medium.printed else min(medium.glimpse, training.closing.length)
        request = request_of(config, length)
        if medium.printed:  # so short a text is there before another engine is set up
            request = dataclasses.replace(request, engine="torch", precision="auto")
        blocks = sample(training, training.trainer.evaluation_model(), request, notice)
        pieces = [block[:, 0] for block in blocks]
        return np.concatenate([prompt.astype(np.int64), *pieces])

    judge = judge_of(training.conditions.recording, training.corpus.codec, prompt.size)
    return [
        Records(folder),
        Checkpoints(
            saver,
            training.checkpoint,
            training.best,
            validates=len(training.validation) > 0,
        ),
        Samples(folder, medium, glimpse, tell, notice, judge),
        *([TensorBoard(folder, config, notice)] if config.log.tensorboard else []),
    ]


def judge_of(recording: Recording | None, codec: Codec, prompt: int) -> Callable[[Integers], str]:
    """What is said of samples, symbols (N,): of sound, whether they are like a recording.

    The first `prompt` symbols of a sample are left out.
    """

    def judge(symbols: Integers) -> str:
        if recording is None or not isinstance(codec, Quantiser):
            return ""
        return f"it {recording.judged(codec.decode(symbols[prompt:]), codec.sample_rate).words}"

    return judge


def _started(training: Training) -> Started:
    progress, corpus = training.trainer.progress, training.corpus
    return Started(
        step=progress.step,
        total_steps=training.trainer.total_steps,
        symbols=len(corpus.whole),
        data=corpus.name,
        vocabulary=corpus.codec.size,
        parameters=training.parameters,
        device=training.device_words,
        precision=training.trainer.execution.precision,
        run_dir=training.folder.path,
        credit=corpus.credit,
    )


def initialise_run_folder(training: Training, saver: Saver, notice: Notice) -> None:
    """Put the run's folder in order, and save the state, from which on it is a run.

    However a training ends from then on, the run goes on with the settings that it has now.
    """
    folder, claim = training.folder, training.claim
    if training.ranks.leads:
        folder.make()
        training.ranks.advise(lambda: advice(training))
        if claim.saved is None:
            folder.clear()  # a run that overwrite=true replaces
        else:
            resume.set_aside(claim.damaged)
        if training.judged_anew:
            resume.keep_best(folder, notice)
    if claim.saved is None or claim.changed:
        state = training.checkpoint()
        if training.ranks.leads:
            saver.save(state)
            saver.wait()
    if training.ranks.leads:
        if len(training.unabridged) <= _INDEXED:
            index = Index.of(training.unabridged, training.corpus.codec)
            folder.write(folder.recited, index.content(training.corpus.sha256))
        config = to_yaml(training.config).encode("utf-8", "surrogateescape")
        folder.write(folder.config, config)
        folder.is_begun = True
        if damaged := folder.reopen(training.trainer.progress.step):
            lines = counted(damaged, "damaged line")
            notice(f"{folder.metrics}: {lines} left out")
    best, progress = folder.checkpoint("best"), training.trainer.progress
    if progress.best_loss is not None and not training.ranks.shared(lambda: peek(best) is not None):
        progress.forget_best()
        notice(f"{best} is missing or damaged: the next validation chooses it anew")


def advice(training: Training) -> str:
    """What is left of a training that ended at once, and how to go on."""
    folder = training.folder
    if not folder.is_begun:
        return NOT_BEGUN.capitalize()
    again = go_on_with(folder.path, training.session.catalogue.modules, training.ranks.rank)
    return f"The run's last checkpoint is whole. To go on: {again}"
