"""The lanes and the network of a training, and how it runs, by its config and its data."""

import dataclasses
from collections.abc import Callable

import torch

from seqkit.config import ARITHMETIC_KEYS, Config, ModelConfig, check_model
from seqkit.data.corpus import Corpus, Part
from seqkit.data.lanes import Lanes
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.processes import Place
from seqkit.foundation.wording import counted
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.runs.checkpoint import Checkpoint
from seqkit.training import kernel_choice


def model_config(wanted: ModelConfig, corpus: Corpus, origin: Checkpoint | None) -> ModelConfig:
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


def with_model(config: Config, model: ModelConfig) -> Config:
    """The config with the network that is trained: weights to start from bring their own."""
    size = config.model.vocabulary_size and model.vocabulary_size  # 0 stands for the data's
    return dataclasses.replace(config, model=dataclasses.replace(model, vocabulary_size=size))


def lanes(
    config: Config,
    part: Part,
    start: int,
    model: ModelConfig,
    place: Place,
    notice: Callable[[str], None],
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


def network(
    config: Config,
    model: ModelConfig,
    origin: Checkpoint | None,
    chosen: torch.device,
    notice: Callable[[str], None],
) -> CharRNN:
    """New weights, or those to start from."""
    if origin is None:
        return CharRNN(model, torch.Generator().manual_seed(config.fixed_seed)).to(chosen)
    size = config.model.vocabulary_size or model.vocabulary_size
    if model != dataclasses.replace(config.model, vocabulary_size=size):
        notice("the model is that of the checkpoint, whatever the recipe and model.* say")
    return dataclasses.replace(origin, model=model).build(chosen)


def execution(
    config: Config,
    model: CharRNN,
    lanes: Lanes,
    precisions: list[str],
    saved: Checkpoint | None,
    notice: Callable[[str], None],
    processes: int,
) -> Execution:
    """How the network runs: as the run did before if it can, else by the rule."""
    trained = (saved.training if saved is not None else None) or {}
    before = kernel_choice.saved_execution(trained)
    if before is not None and trained.get("processes", 1) != processes:
        before = dataclasses.replace(before, lanes=kernel_choice.width(model, lanes))
    chosen = kernel_choice.choose_execution(
        model,
        lanes,
        precisions=precisions,
        # Two trials may end differently: what is to repeat bit by bit takes the first precision.
        timed=config.model.autotune and not config.train.deterministic,
        before=before,
    )
    if chosen != before and (before or model.head.weight.is_cuda):
        notice(f"kernels: {chosen}")
    for said in kernel_choice.advice(model, chosen):
        notice(said)
    return chosen
