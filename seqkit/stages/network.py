"""The network of a training: its shape, its weights, its lanes, and how it runs."""

import dataclasses

import torch

from seqkit.config import ARITHMETIC_KEYS, ModelConfig, TrainConfig, check_model
from seqkit.data.corpus import Corpus, Part
from seqkit.data.lanes import Lanes
from seqkit.foundation import device
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Session
from seqkit.foundation.wording import counted
from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN
from seqkit.runs.checkpoint import Checkpoint
from seqkit.stages.data import TrainingData
from seqkit.training import kernel_choice

_OF_DATA = ("vocabulary_size", "symbols_per_step", "labels")
"""Keys that by default are as the data is."""


def shape_of(wanted: ModelConfig, start: Checkpoint | None, corpus: Corpus) -> ModelConfig:
    """The network to train: as it is wanted, or that of the weights to start from."""
    if start is not None:
        model = dataclasses.replace(
            start.model,
            **{key: getattr(wanted, key) for key in ARITHMETIC_KEYS},
        )
        check_model(model)
        return model
    size = corpus.codec.size + bool(wanted.ends)
    asked = wanted.vocabulary_size or size
    if asked < size or (wanted.ends and asked > size):
        raise ConfigError(
            f"model.vocabulary_size={asked}: the data has {size} symbols to predict: leave it out"
        )
    codec = corpus.codec
    frame = codec.phases if codec.kind == "audio" else 1
    if wanted.symbols_per_step not in (0, 1, frame):
        raise ConfigError(
            f"model.symbols_per_step={wanted.symbols_per_step}: a frame of the data has {frame}: "
            "give that, or 1, or leave it out"
        )
    shape = dataclasses.replace(
        wanted,
        vocabulary_size=asked,
        symbols_per_step=wanted.symbols_per_step or frame,
        labels=corpus.labels.sizes if corpus.labels else [],
    )
    check_model(shape)
    return shape


def require_ends(wanted: ModelConfig, part: Part) -> None:
    """Raise ConfigError where ends of documents are to be learnt of a part that has none."""
    if wanted.ends and len(part.starts) == 1:
        raise ConfigError(
            "model.ends=true: the training part is one document, or the beginning of one, and "
            "ends nowhere: give a folder in which each document is a file"
        )


def as_asked(wanted: ModelConfig, model: ModelConfig) -> ModelConfig:
    """The network that is trained, with keys as its data have them left out if they were."""
    of_data = {key: getattr(wanted, key) and getattr(model, key) for key in _OF_DATA}
    return dataclasses.replace(model, **of_data)


def lay_out(
    data: TrainingData, model: ModelConfig, train: TrainConfig, seed: int, session: Session
) -> Lanes:
    """The part to learn in lanes, of which this process shows its share.

    Raises:
        ConfigError: windows that cut a frame, or more processes than lanes.
        DataError: it is too little for two windows.
    """
    rank, several = session.ranks.rank, len(data.unabridged.starts) > 1
    shift_seed = seed if train.shift_lanes else None
    end = model.symbols if model.ends and several else None
    sizes = train.batch_size, train.sequence_length
    lanes = Lanes(data.training, data.corpus.codec.start, *sizes, shift_seed, end)
    lanes.share_out(rank.number, rank.size)
    if lanes.batch_size < train.batch_size:
        wanted = f"train.batch_size={train.batch_size}"
        session.notice(
            f"the data is short: {counted(lanes.batch_size, 'lane')} in place of {wanted}"
        )
    return lanes


def build(model: ModelConfig, start: Checkpoint | None, seed: int, chosen: torch.device) -> CharRNN:
    """The network: new weights, or those to start from."""
    if start is not None:
        return dataclasses.replace(start, model=model).build(chosen)
    return CharRNN(model, torch.Generator().manual_seed(seed)).to(chosen)


def execution(
    train: TrainConfig,
    model: CharRNN,
    lanes: Lanes,
    session: Session,
    saved: Checkpoint | None = None,
) -> Execution:
    """How the network runs: as the run that was saved did if it can, else by the rule."""
    trained = (saved and saved.training) or {}
    before = Execution.from_record(trained.get("execution"))
    if before is not None and trained.get("processes", 1) != session.ranks.rank.size:
        before = dataclasses.replace(before, lanes=kernel_choice.task_of(model, lanes).width)
    device_of = model.head.weight.device
    chosen = kernel_choice.choose_execution(
        model,
        lanes,
        precisions=device.candidate_precisions(train.precision, device_of),
        # Two trials may end differently: what is to repeat bit by bit takes the first precision.
        timed=not train.deterministic,
        before=before,
    )
    if chosen != before and (before or model.head.weight.is_cuda):
        session.notice(f"kernels: {chosen}")
    for hint in kernel_choice.advice(model, lanes, chosen):
        session.notice(hint)
    return chosen
