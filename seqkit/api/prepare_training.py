"""A training set up from a config: data, network and trainer, checked before a file is made."""

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from seqkit.api import agreement, fine_tuning, training_data
from seqkit.api.claimed_folder import claimed, is_finished
from seqkit.config import ARITHMETIC_KEYS, Config, ModelConfig, check_model
from seqkit.data.corpus import Corpus, Part
from seqkit.data.lanes import Lanes
from seqkit.doctor.enough import require_enough, require_sound
from seqkit.evaluation import baselines
from seqkit.foundation import device
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.processes import Place
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.foundation.wording import counted
from seqkit.generation.engines.choose import check_engine
from seqkit.generation.medium import Medium, medium_of
from seqkit.generation.request import prompt_of, request_of
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.runs import resume, tensorboard
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.runs.saved_states import Found
from seqkit.symbols import Symbols
from seqkit.training import footprint, kernel_choice
from seqkit.training.trainer import Trainer

Notice = Callable[[str], None]


@dataclass(frozen=True)
class Training:
    """All that a training needs, set up and checked; nothing is written yet."""

    config: Config
    folder: RunFolder
    corpus: Corpus
    validation: Part
    medium: Medium
    prompt: Symbols
    trainer: Trainer
    execution: Execution
    catalogue: Catalogue
    memory_advice: Callable[[], str]
    """What to try when memory does not suffice."""
    found: Found | None
    """The state that it goes on from."""
    forced: bool
    """Whether the run goes on with settings that shape what it learns and that it did not have."""
    ranks: Ranks
    """The processes that train together; rank 0 alone writes."""

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.trainer.model.head.weight.device

    @property
    def device_words(self) -> str:
        """The devices of all processes, in words."""
        return device.describe(self.device, self.ranks.place)

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
        saved = found and found.checkpoint
        if saved is not None and is_finished(config, folder, saved):
            resume.require_same(config, saved)
            notice(f"{folder.path}: {resume.finished(config, folder.finished_at)}")
            yield None
            return
        chosen = device.choose_device(device.own(config.device, ranks.place))
        agreement.check_device(chosen, ranks)
        with device.settings_of_training(chosen, config.train.deterministic):
            training = _set_up(config, chosen, folder, found, catalogue, notice, progress, ranks)
            if saved is not None and training.trainer.finished and folder.finished_at is not None:
                resume.require_same(config, saved)
                notice(f"{folder.path}: {resume.finished(config, training.trainer.progress.step)}")
                yield None
            else:
                if said := resume.time_is_up(config, training.trainer.elapsed):
                    notice(said)
                yield training


def _set_up(
    config: Config,
    chosen: torch.device,
    folder: RunFolder,
    found: Found | None,
    catalogue: Catalogue,
    notice: Notice,
    progress: Progress,
    ranks: Ranks,
) -> Training:
    """Data, network and trainer; `found` is the state to go on from."""
    saved = found and found.checkpoint
    if saved is not None:
        resume.require_data(config, saved)
    origin = saved or fine_tuning.initial(config, catalogue)
    precisions = device.candidate_precisions(config.train.precision, chosen)
    with ranks.turn(ranks.place.local_rank == 0):  # the others find what it left in the cache
        corpus, origin = training_data.read(config, origin, saved, catalogue, notice, progress)
    agreement.check_data(corpus, ranks)
    model_config = _model_config(config.model, corpus, origin)
    catalogue.find("codecs", corpus.codec.name)  # or no checkpoint of this run could be read
    prompt = _check_sampling(config, corpus, model_config, chosen, notice)
    training, validation, _ = corpus.split(config.data.split)
    require_enough(config, corpus, training)
    if saved is None:
        require_sound(config, corpus)
    training = training_data.of_sound(training, corpus, config, notice, progress)
    validation = training_data.heard(validation, corpus, config.data)
    if saved is None and (said := training_data.long_validation(validation, config)):
        notice(said)
    settings = config.train
    lanes = _lanes(config, training, corpus.codec.start, model_config, ranks.place, notice)
    shape = footprint.shape_of(config, model_config, lanes.widest, precisions[0], chosen)
    advice = footprint.require(shape, chosen, new=origin is None)
    if ranks.leads:
        folder.require_room(shape.on_disk)
    with device.memory_errors(advice):
        model = _network(config, model_config, origin, chosen, notice)
        config = _with_model(config, model_config)
        given = config, model, lanes, precisions, saved, notice, ranks.place.size
        execution = ranks.shared(lambda: _execution(*given))
        trainer = Trainer(
            model=model,
            lanes=lanes,
            validation=validation,
            start=corpus.codec.start,
            optimizer=config.optimizer,
            train=settings,
            seed=config.fixed_seed,
            execution=execution,
            clock=ranks.clock if settings.max_minutes else time.monotonic,
            ranks=ranks,
        )
        if saved is not None:
            _restore(trainer, saved, config, corpus)
    same_data = saved is None or saved.data.get("sha256") == corpus.sha256
    differs = saved and resume.check_settings(config, saved, same_data=same_data)
    return Training(
        config=config,
        folder=folder,
        corpus=corpus,
        validation=validation,
        medium=medium_of(corpus.codec, config.data.newline),
        prompt=prompt,
        trainer=trainer,
        execution=execution,
        catalogue=catalogue,
        memory_advice=advice,
        found=found,
        forced=bool(differs),
        ranks=ranks,
    )


def _restore(trainer: Trainer, saved: Checkpoint, config: Config, corpus: Corpus) -> None:
    """Let a trainer go on from a run's last checkpoint."""
    averaged = bool(saved.config.get("train", {}).get("average"))
    trainer.restore(saved.training or {}, saved.training_tensors, averaged=averaged)
    asked = dataclasses.asdict(config)
    if not resume.have_same_parts(saved.config, saved.data, asked, corpus.record()):
        trainer.progress.forget_best()


def _check_sampling(
    config: Config, corpus: Corpus, model: ModelConfig, chosen: torch.device, notice: Notice
) -> Symbols:
    """Refuse now what could not be sampled later; the prompt (N,) of the samples."""
    medium = medium_of(corpus.codec, config.data.newline)
    prompt = medium.read_prompt(prompt_of(config), notice)
    request = request_of(config, medium.length(config.length, config.seconds))
    check_engine(model, corpus.codec.size, dataclasses.replace(request, streams=1), chosen)
    if not medium.printed:
        medium.check_files([Path(f"final{medium.suffix}")], prompt.size + request.length)
    return prompt


def _model_config(wanted: ModelConfig, corpus: Corpus, origin: Checkpoint | None) -> ModelConfig:
    """The network to train: as configured, or that of the weights to start from."""
    if origin is not None:
        model = dataclasses.replace(
            origin.model,
            autotune=wanted.autotune,
            **{key: getattr(wanted, key) for key in ARITHMETIC_KEYS},
        )
        check_model(model)
        return model
    size = corpus.codec.size
    if wanted.vocabulary_size and wanted.vocabulary_size < size:
        raise ConfigError(
            f"model.vocabulary_size={wanted.vocabulary_size}: the data has {size} symbols; "
            "give at least as many, or 0"
        )
    return dataclasses.replace(wanted, vocabulary_size=wanted.vocabulary_size or size)


def _with_model(config: Config, model: ModelConfig) -> Config:
    """The config with the network that is trained: weights to start from bring their own."""
    size = config.model.vocabulary_size and model.vocabulary_size  # 0 stands for the data's
    return dataclasses.replace(config, model=dataclasses.replace(model, vocabulary_size=size))


def _lanes(
    config: Config, part: Part, start: int, model: ModelConfig, place: Place, notice: Notice
) -> Lanes:
    """The lanes of this process."""
    train = config.train
    shift_seed = config.fixed_seed if train.shift_lanes else None
    lanes = Lanes(part, start, train.batch_size, train.sequence_length, shift_seed)
    lanes.share_out(place.rank, place.size)
    if lanes.batch_size < train.batch_size:
        wanted = f"train.batch_size={train.batch_size}"
        notice(f"the data is short: {counted(lanes.batch_size, 'lane')} in place of {wanted}")
    if lanes.has_separators and not model.resets_in_one_call:
        notice(
            f"model.cell={model.cell} cannot start a document inside a fused call: the calls are "
            "cut where documents begin, which takes longer"
        )
    return lanes


def _network(
    config: Config,
    model: ModelConfig,
    origin: Checkpoint | None,
    chosen: torch.device,
    notice: Notice,
) -> CharRNN:
    """New weights, or those to start from."""
    if origin is None:
        return CharRNN(model, torch.Generator().manual_seed(config.fixed_seed)).to(chosen)
    size = config.model.vocabulary_size or model.vocabulary_size
    if model != dataclasses.replace(config.model, vocabulary_size=size):
        notice("the model is that of the checkpoint, whatever the recipe and model.* say")
    return dataclasses.replace(origin, model=model).build(chosen)


def _execution(
    config: Config,
    model: CharRNN,
    lanes: Lanes,
    precisions: list[str],
    saved: Checkpoint | None,
    notice: Notice,
    processes: int,
) -> Execution:
    """How the network runs: as the run did before if it can, else by the rule."""
    trained = (saved.training if saved is not None else None) or {}
    before = kernel_choice.saved_execution(trained)
    if before is not None and trained.get("processes", 1) != processes:
        before = dataclasses.replace(before, lanes=kernel_choice.width(model, lanes))
    execution = kernel_choice.choose_execution(
        model,
        lanes,
        precisions=precisions,
        # Two trials may end differently: what is to repeat bit by bit takes the first precision.
        timed=config.model.autotune and not config.train.deterministic,
        before=before,
    )
    if execution != before and (before or model.head.weight.is_cuda):
        notice(f"kernels: {execution}")
    for said in kernel_choice.advice(model, execution):
        notice(said)
    return execution
