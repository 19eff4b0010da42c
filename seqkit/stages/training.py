"""A training set up from a config: data, network and trainer, checked before a file is made."""

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from seqkit.config import Config
from seqkit.data import remote
from seqkit.data.corpus import Corpus, Part
from seqkit.data.shards import opened as shards
from seqkit.doctor.faults import require_enough
from seqkit.evaluation import baselines
from seqkit.evaluation.recording import Recording
from seqkit.foundation import device, disk
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.generation.engines.choose import check_engine
from seqkit.generation.medium import Medium, medium_of
from seqkit.generation.request import request_of
from seqkit.generation.slow_tier import SlowTier
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.runs import resume, tensorboard
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.runs.resume import Found
from seqkit.stages import agreement, build_network, prepare_sound, read_corpus
from seqkit.stages.claim import claimed
from seqkit.symbols import Symbols
from seqkit.training import footprint
from seqkit.training.trainer import Trainer

Notice = Callable[[str], None]


@dataclass(frozen=True)
class Training:
    """All that a training needs, set up and checked; nothing is written yet."""

    config: Config
    folder: RunFolder
    corpus: Corpus
    learnt: Part
    """The training part."""
    validation: Part
    medium: Medium
    prompt: Symbols
    slow: SlowTier | None
    recording: Recording | None
    """The sound that samples are compared with, if it is long enough."""
    trainer: Trainer
    execution: Execution
    catalogue: Catalogue
    memory_advice: str
    """What to try when memory does not suffice."""
    found: Found | None
    """The state that it goes on from."""
    changed: Sequence[str]
    """Keys of which that state has other values, and the data if they are others."""
    judged_anew: bool
    """Whether losses of before cannot be compared with those to come."""
    ranks: Ranks
    """The processes that train together; rank 0 alone writes."""

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.trainer.model.head.weight.device

    @property
    def device_words(self) -> str:
        """The devices of all processes, in words."""
        return device.describe(self.device, self.ranks.rank)

    @property
    def parameters(self) -> int:
        """The number of the network's weights."""
        return sum(parameter.numel() for parameter in self.trainer.model.parameters())

    @functools.cached_property
    def baselines(self) -> dict[str, float]:
        """What the validation part, or all data without one, takes without training, in bits."""
        part = self.validation if len(self.validation) else self.corpus.whole
        names = baselines.of_run(self.corpus.codec)
        return baselines.baselines(part, self.corpus.codec, names, baselines.SAMPLE)

    def checkpoint(self) -> Checkpoint:
        """The run as it is now, with all that resuming needs."""
        values, tensors = self.trainer.state()
        saved = self._saved(self.trainer.model)
        return dataclasses.replace(saved, training=values, training_tensors=tensors)

    def best(self) -> Checkpoint:
        """The weights as evaluation sees them, and what generation needs."""
        return self._saved(self.trainer.evaluation_model())

    def _saved(self, model: CharRNN) -> Checkpoint:
        progress = self.trainer.progress
        return Checkpoint(
            model=model.config,
            codec=self.corpus.codec,
            weights=dict(model.state_dict()),
            config=dataclasses.asdict(self.config),
            data=self.corpus.record(),
            metrics={
                "step": progress.step,
                "symbols": progress.symbols,
                "train_seconds": progress.seconds,
                "scored": progress.scored,
                "best_validation_loss": progress.best_loss,
                "best_step": progress.best_step,
                "best_weights": progress.best_weights,
                "best_temperature": progress.best_temperature,
            },
            versions=device.versions(),
            slow=self.slow,
            recording=self.recording,
            labels=self.corpus.labels,
        )

    @property
    def length(self) -> int:
        """Symbols of the closing sample."""
        return self.medium.length(self.config.length, self.config.seconds)


@contextlib.contextmanager
def opened(
    config: Config,
    catalogue: Catalogue,
    notice: Notice,
    progress: Progress = unseen,
    ranks: Ranks = ALONE,
) -> Iterator[Training | None]:
    """Set a training up, and keep others out of its folder until the block ends.

    Yields None where the run is finished, which `notice` is told. All of `ranks` have to set the
    same training up: rank 0 keeps the folder, and the others read the checkpoint that it found.

    Raises:
        SeqkitError: the settings, the data, a checkpoint, the device or the folder do not allow it.
    """
    if config.log.tensorboard and ranks.leads:
        tensorboard.require()
    config = dataclasses.replace(config, seed=config.fixed_seed)
    agreement.check_settings(config, ranks)
    with claimed(config, catalogue, notice, ranks) as (folder, found):
        saved, changed = found and found.checkpoint, list[str]()
        if saved is not None:
            changed = _take_over(config, saved, notice)
            asks_for_more = resume.asks_for_more(changed)
            if folder.finished_at == saved.metrics.get("step") and not asks_for_more:
                _tell_finished(config, folder, saved, changed, notice)
                yield None
                return
            resume.allowed(config, saved, changed)
            if said := resume.clock_left(config, saved):
                notice(said)
        chosen = device.find_device(device.own(config.device, ranks.rank))
        agreement.check_device(chosen, ranks)
        with device.settings_of_training(chosen, config.train.deterministic):
            given = config, chosen, folder, found, changed, catalogue, notice, progress, ranks
            training = _set_up(*given)
            trainer = training.trainer
            if saved is not None and trainer.finished and folder.finished_at is not None:
                _tell_finished(config, folder, saved, changed, notice)
                yield None
            else:
                yield training


def _take_over(config: Config, saved: Checkpoint, notice: Notice) -> list[str]:
    """Fill `config` up with what a run decides; returns the keys in which it differs from the run.

    The data are where the run had them, in so far as the config does not say where.
    """
    resume.take_place(config, saved, notice)
    resume.leave_out_new_keys(config, saved, notice)
    cache = disk.cache_dir()
    if any(map(remote.is_remote, remote.cached(config.data, cache).path)):
        remote.fetch(config.data, cache, notice)  # shards say in their index how they are read
    config.data = shards.settled(config.data)  # as the run's own were
    changed = resume.differences(config, saved.config)
    config.init_from = saved.config.get("init_from")
    return changed


def _tell_finished(
    config: Config, folder: RunFolder, saved: Checkpoint, changed: Sequence[str], notice: Notice
) -> None:
    """Tell that a run is finished. Raises ConfigError where other settings are forced on it."""
    said = resume.finished(config, saved.metrics.get("step"))
    if differs := resume.allowed(config, saved, changed):
        raise ConfigError(f"{differs}; {said}")
    notice(f"{folder.path}: {said}")


def _set_up(
    config: Config,
    chosen: torch.device,
    folder: RunFolder,
    found: Found | None,
    changed: list[str],
    catalogue: Catalogue,
    notice: Notice,
    progress: Progress,
    ranks: Ranks,
) -> Training:
    """Data, lanes, network, trainer, and the state to go on from, in this order."""
    precisions = device.candidate_precisions(config.train.precision, chosen)
    saved = found and found.checkpoint
    with ranks.turn(ranks.rank.local_number == 0):  # the others find what it left in the cache
        if saved is not None:
            resume.require_data(config, saved)
        here = read_corpus.locate(config, notice, progress)
        origin = saved or build_network.initial(config, catalogue, notice, progress)
        corpus, origin = read_corpus.read(config, here, origin, saved, catalogue, notice, progress)
    ranks.check_same({"the data's sha256": corpus.sha256})
    judged_anew = resume.reads_otherwise(changed)
    if saved is not None:
        if saved.data.get("sha256") != corpus.sha256:
            judged_anew = True
            changed.append(resume.other_data(saved))
        if differs := resume.allowed(config, saved, changed):
            notice(f"going on though {differs}")
    model_config = build_network.model_config(config.model, corpus, origin)
    catalogue.find("codecs", corpus.codec.name)  # or no checkpoint of this run could be read
    medium = medium_of(corpus.codec, config.data.newline)
    prompt = medium.read_prompt(config, notice)
    request = request_of(
        dataclasses.replace(config, streams=1), medium.length(config.length, config.seconds)
    )
    check_engine(model_config, corpus.codec.size, request, chosen)  # now, not after the training
    training, validation, _ = corpus.split(config.data.split)
    require_enough(config, corpus, training)
    corpus = read_corpus.with_counts(corpus, training, notice)
    given = config, corpus, model_config, training, validation, saved, origin
    sound = prepare_sound.hear(*given, ranks, notice, progress)
    model_config, training, validation = sound.model, sound.training, sound.validation
    lanes = build_network.lanes(
        config, training, corpus.codec.start, model_config, ranks.rank, notice
    )
    shape = footprint.shape_of(
        config, model_config, lanes.widest, precisions[0], chosen, len(validation)
    )
    advice = footprint.require(shape, chosen, new=origin is None)
    if ranks.leads:
        folder.require_room(shape.on_disk)
    with device.memory_errors(advice):
        model = build_network.network(config, model_config, origin, chosen, notice)
        if origin is None and sound.slow is not None:
            sound.slow.begin(model)
        if sound.prediction is not None:
            model.predict(*sound.prediction)
        config = build_network.with_model(config, model_config)
        running = config, model, lanes, precisions, saved, notice, ranks.rank.size
        execution = ranks.shared(lambda: build_network.execution(*running))
        trainer = Trainer(
            model=model,
            lanes=lanes,
            validation=validation,
            start=corpus.codec.start,
            optimizer=config.optimizer,
            train=config.train,
            seed=config.fixed_seed,
            execution=execution,
            clock=ranks.clock if config.train.max_minutes else time.monotonic,
            closing_sample=request.length / min(request.length, medium.glimpse),
            ranks=ranks,
            errors=prepare_sound.errors_of(corpus, config, sound.slow),
        )
        if saved is not None:
            averaged = bool(saved.config.get("train", {}).get("average"))
            trainer.restore(saved.training or {}, saved.training_tensors, averaged=averaged)
            judged_anew = judged_anew or trainer.scores_otherwise
        if judged_anew:
            trainer.progress.forget_best()
    return Training(
        config=config,
        folder=folder,
        corpus=corpus,
        learnt=training,
        validation=validation,
        medium=medium,
        prompt=prompt,
        slow=sound.slow,
        recording=sound.recording,
        trainer=trainer,
        execution=execution,
        catalogue=catalogue,
        memory_advice=advice,
        found=found,
        changed=changed,
        judged_anew=judged_anew,
        ranks=ranks,
    )
