"""A training set up from a config: data, network and trainer, checked before a file is made."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from seqkit import device, disk
from seqkit.api import fine_tuning, training_data
from seqkit.config import ARITHMETIC_KEYS, Config, ModelConfig, check_model
from seqkit.console import Progress, unseen
from seqkit.data.corpus import Corpus, Part
from seqkit.data.lanes import Lanes
from seqkit.data.load import fitting_recipe
from seqkit.doctor import sound_faults
from seqkit.errors import CheckpointError, ConfigError, OutputError
from seqkit.evaluation import baselines
from seqkit.generation.engines.choose import check_engine
from seqkit.generation.medium import Medium, medium_of
from seqkit.generation.request import prompt_of, request_of
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.plugins import Catalogue
from seqkit.progress_line import counted
from seqkit.runs import resume, tensorboard
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.symbols import Symbols
from seqkit.training import footprint, kernel_choice
from seqkit.training.trainer import Trainer

Notice = Callable[[str], None]
_MOST_FAULTS = 2  # of the data, the worst, that a training tells; `doctor` tells all


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

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.trainer.model.head.weight.device

    @property
    def parameters(self) -> int:
        """The number of the network's weights."""
        return sum(parameter.numel() for parameter in self.trainer.model.parameters())

    @functools.cached_property
    def baselines(self) -> dict[str, float]:
        """What the validation part, or all data without one, takes without training, in bits."""
        part = self.validation if len(self.validation) else self.corpus.whole
        return baselines.quick(part, self.corpus.codec)

    @property
    def length(self) -> int:
        """Symbols of the closing sample."""
        return self.medium.length(self.config.length, self.config.seconds)


@contextlib.contextmanager
def opened(
    config: Config, catalogue: Catalogue, notice: Notice, progress: Progress = unseen
) -> Iterator[Training | None]:
    """Set a training up, and keep others out of its folder until the block ends.

    Yields None where the run is finished, which `notice` is told.

    Raises:
        SeqkitError: the settings, the data, a checkpoint, the device or the folder do not allow it.
    """
    if config.log.tensorboard:
        tensorboard.require()
    config = dataclasses.replace(config, seed=config.fixed_seed)
    folder = _run_folder(config)
    with folder.claimed():
        if folder.is_used and config.resume == "never" and not config.overwrite:
            raise OutputError(
                f"run_dir={folder.path} holds a run: resume=auto goes on with it, "
                "overwrite=true replaces it"
                if folder.holds_run
                else f"run_dir={folder.path} holds checkpoints, but no config.yaml of their run: "
                "give another run_dir, or overwrite=true"
            )
        folder.check_no_others()
        goes_on = config.resume != "never" and folder.holds_run
        saved = folder.load_last(catalogue, notice) if goes_on else None
        if goes_on and saved is None:
            notice(f"{folder.path}: no checkpoint to go on from is left: the run starts again")
        if saved is None and config.resume == "force":
            raise CheckpointError(f"resume=force: {folder.path} holds no run to go on with")
        if saved is not None:
            resume.take_place(config, saved, notice)
            resume.leave_out_new_keys(config, saved, notice)
            resume.check_settings(config, saved)
            config.init_from = saved.config.get("init_from")
            ended = folder.finished_at == saved.metrics.get("step")
            if ended and not resume.may_have_more(config, saved):
                notice(f"{folder.path}: {resume.finished(config, folder.finished_at)}")
                yield None
                return
        chosen = device.choose_device(config.device)
        with device.settings_of_training(chosen, config.train.deterministic):
            training = _set_up(config, chosen, folder, saved, catalogue, notice, progress)
            if saved is not None and training.trainer.finished and folder.finished_at is not None:
                notice(f"{folder.path}: {resume.finished(config, training.trainer.progress.step)}")
                yield None
            else:
                if said := resume.time_is_up(config, training.trainer.elapsed):
                    notice(said)
                yield training


def _run_folder(config: Config) -> RunFolder:
    if config.resume != "never" and not config.run_dir:
        raise ConfigError(f"resume={config.resume}: give run_dir=FOLDER, the run to go on with")
    if not config.recipe:
        held = config.run_dir and RunFolder(Path(config.run_dir)).holds_run
        raise ConfigError(
            f"no recipe: resume=auto goes on with the run in {config.run_dir}"
            if held
            else f"no recipe: give {fitting_recipe(config.data)}; --help lists all"
        )
    if config.run_dir:
        folder = RunFolder(Path(config.run_dir))
    else:
        folder = RunFolder.timed(Path(config.runs), config.recipe)
    folder.check_writable()
    return folder


def _set_up(
    config: Config,
    chosen: torch.device,
    folder: RunFolder,
    saved: Checkpoint | None,
    catalogue: Catalogue,
    notice: Notice,
    progress: Progress,
) -> Training:
    """Data, network and trainer; `saved` is the run to go on with."""
    origin = saved or fine_tuning.initial(config, catalogue)
    precisions = device.candidate_precisions(config.train.precision, chosen)
    corpus, origin = training_data.read(config, origin, saved, catalogue, notice, progress)
    if saved is None:
        for told in sound_faults.of_corpus(corpus)[:_MOST_FAULTS]:
            notice(told)
    model_config = _model_config(config.model, corpus, origin)
    catalogue.find("codecs", corpus.codec.name)  # or no checkpoint of this run could be read
    prompt = _check_sampling(config, corpus, model_config, chosen, notice)
    training, validation, _ = corpus.split(config.data.split)
    training = training_data.of_sound(training, corpus, config, notice, progress)
    settings = config.train
    shift_seed = config.fixed_seed if settings.shift_lanes else None
    size = settings.batch_size, settings.sequence_length
    lanes = Lanes(training, corpus.codec.start, *size, shift_seed)
    _tell_of_lanes(lanes, settings.batch_size, model_config, notice)
    shape = footprint.shape_of(config, model_config, lanes.batch_size, precisions[0], chosen)
    advice = footprint.require(shape, chosen, new=origin is None)
    with device.memory_errors(advice):
        model = _network(config, model_config, origin, chosen, notice)
        config = _with_model(config, model_config)
        execution = _execution(config, model, lanes, precisions, saved, notice)
        trainer = Trainer(
            model=model,
            lanes=lanes,
            validation=validation,
            start=corpus.codec.start,
            optimizer=config.optimizer,
            train=settings,
            seed=config.fixed_seed,
            execution=execution,
        )
        if saved is not None:
            trainer.restore(saved.training or {}, saved.training_tensors)
            if saved.data.get("sha256") != corpus.sha256:
                trainer.forget_best()
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
    )


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


def _tell_of_lanes(lanes: Lanes, wanted: int, model: ModelConfig, notice: Notice) -> None:
    if lanes.batch_size < wanted:
        count = counted(lanes.batch_size, "lane")
        notice(f"the data is short: {count} in place of train.batch_size={wanted}")
    if lanes.has_separators and not model.resets_in_one_call:
        notice(
            f"model.cell={model.cell} cannot start a document inside a fused call: the calls are "
            "cut where documents begin, which takes longer"
        )


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
        notice("the model is that of the checkpoint, not what model.* asks for")
    return dataclasses.replace(origin, model=model).build(chosen)


def _execution(
    config: Config,
    model: CharRNN,
    lanes: Lanes,
    precisions: list[str],
    saved: Checkpoint | None,
    notice: Notice,
) -> Execution:
    """How the network runs: as the run did before if it can, else as a search finds it fastest."""
    if advice := kernel_choice.width_advice(model):
        notice(advice)
    if reason := kernel_choice.why_not_persistent(model):
        notice(reason)
    before = kernel_choice.saved_execution(saved.training) if saved is not None else None
    choice = kernel_choice.choose_execution(
        model,
        lanes,
        precisions=precisions,
        cache=disk.cache_dir(),
        # Two searches may end differently: what is to repeat bit by bit follows a rule instead.
        search=config.model.autotune and not config.train.deterministic,
        before=before,
    )
    if choice.refused:
        notice(f"cuDNN runs the layers: the persistent kernel does not start: {choice.refused}")
    if choice.execution != before and (choice.milliseconds or before):
        notice(f"kernels: {choice}")
    return choice.execution
