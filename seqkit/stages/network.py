"""The network of a training: its shape, weights and lanes, how it runs, and the memory it takes."""

import dataclasses

import numpy as np
import torch
from torch import Tensor

from seqkit.config import ARITHMETIC_KEYS, ModelConfig, TrainConfig, check_model
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Corpus
from seqkit.data.lanes import Lanes
from seqkit.foundation import device, machine
from seqkit.foundation.console import Notice
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.foundation.ranks import Session
from seqkit.foundation.wording import counted
from seqkit.lstm import DTYPES, Execution, KernelError, Task, fastest
from seqkit.model.arrays import count_parameters
from seqkit.model.char_rnn import CharRNN
from seqkit.runs.checkpoint import Checkpoint
from seqkit.stages.data import TrainingData

SMALLER = "Try a smaller train.batch_size, train.sequence_length or model.hidden_size."
_OF_DATA = ("vocabulary_size", "symbols_per_step", "labels")
"""Keys that by default are as the data is."""
_SHOWN = 20  # new characters that are named
# Values that a layer keeps of a forward pass for each unit, step and lane.
_KEPT = {"lstm": 9, "gru": 5, "rnn_tanh": 2, "rnn_relu": 2}
_LOGIT_BYTES = 10  # logits, their log_softmax, and the gradients of both


def shape_of(wanted: ModelConfig, start: Checkpoint | None, data: TrainingData) -> ModelConfig:
    """The network to train: as it is wanted, or that of the weights to start from.

    Raises ConfigError where the data do not fit it, or have no ends to learn.
    """
    if wanted.ends and len(data.unabridged.starts) == 1:
        raise ConfigError(
            "model.ends=true: the training part is one document, or the beginning of one, and "
            "ends nowhere: give a folder in which each document is a file"
        )
    if start is not None:
        model = dataclasses.replace(
            start.model, **{key: getattr(wanted, key) for key in ARITHMETIC_KEYS}
        )
        check_model(model)
        return model
    corpus, codec = data.corpus, data.corpus.codec
    size = codec.size + bool(wanted.ends)
    asked = wanted.vocabulary_size or size
    if asked < size or (wanted.ends and asked > size):
        raise ConfigError(
            f"model.vocabulary_size={asked}: the data has {size} symbols to predict: leave it out"
        )
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


def keys_of(
    shape: ModelConfig, wanted: ModelConfig, start: Checkpoint | None, notice: Notice
) -> ModelConfig:
    """The keys by which a run has its network: what its data decide is left out if it was."""
    of_data = {key: getattr(wanted, key) and getattr(shape, key) for key in _OF_DATA}
    keys = dataclasses.replace(shape, **of_data)
    if start is not None and keys != wanted:
        notice("the model is that of the checkpoint, whatever the recipe and model.* say")
    return keys


def lay_out(
    data: TrainingData,
    model: ModelConfig,
    train: TrainConfig,
    seed: int,
    session: Session,
    chosen: torch.device,
) -> Lanes:
    """The part to learn in lanes, of which this process shows its share on a device.

    Raises:
        ConfigError: windows that cut a frame, or more processes than lanes.
        DataError: it is too little for two windows.
        DeviceError: a step takes more memory than there is.
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
    precision, *_ = device.candidate_precisions(train.precision, chosen)
    places = lanes.widest * lanes.sequence_length
    needed = footprint(model, places, precision, averaged=train.average > 0)
    machine.require_memory(needed, "this training", SMALLER, chosen)
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
    task, on_gpu = task_of(model, lanes), model.device.type == "cuda"
    trained = (saved and saved.training) or {}
    before = Execution.from_record(trained.get("execution"))
    if before is not None and trained.get("processes", 1) != session.ranks.rank.size:
        before = dataclasses.replace(before, lanes=task.width)
    precisions = device.candidate_precisions(train.precision, model.device)
    if before is not None and before.precision in precisions and task.runs(before):
        return before
    # Two trials may end differently: what is to repeat bit by bit takes the first precision.
    chosen = choose_execution(task, precisions, timed=not train.deterministic)
    if chosen != before and (before or on_gpu):
        session.notice(f"kernels: {chosen}")
    return chosen


def choose_execution(task: Task, precisions: list[str], *, timed: bool = True) -> Execution:
    """The execution that is expected to be the fastest: see `fastest`.

    Raises ConfigError, DeviceError: model.backend=persistent where that kernel cannot run.
    """
    if task.backend == "persistent" and not task.own_kernels:
        raise ConfigError(
            "model.backend=persistent runs an LSTM whose model.hidden_size is a multiple of 64 up "
            f"to 1024, not {task.cell} with {task.hidden_size}: use model.backend=cudnn"
        )
    if task.backend == "persistent" and task.device.type == "cuda" and {*precisions} == {"fp32"}:
        raise ConfigError("model.backend=persistent has 16 bits: leave train.precision=auto")
    try:
        return fastest(task, precisions, timed=timed)
    except KernelError as error:
        raise DeviceError(f"model.backend=persistent {error}: use model.backend=cudnn") from error


def task_of(model: CharRNN, lanes: Lanes) -> Task:
    """The layers of a network on its device, and what they are trained on."""
    config = model.config
    return Task(
        cell=config.cell,
        input_size=config.input_width,
        hidden_size=config.hidden_size,
        num_layers=config.num_layers,
        steps=lanes.sequence_length // config.frame,
        lanes=lanes.widest,
        device=model.device,
        backend=config.backend,
        one_hot=config.input == "one_hot" and config.frame == 1,
        resets=lanes.has_separators,
        within=config.skip_connections or any(config.unit_dropout),
    )


def footprint(model: ModelConfig, places: int, precision: str, *, averaged: bool) -> int:
    """The bytes that training `model`, with its vocabulary_size, takes on its device at least.

    It is for the T B places of a window.
    """
    moments = 2 + averaged  # of AdamW, and the average
    parameters, size = count_parameters(model), DTYPES[precision].itemsize
    units = _KEPT[model.cell] * model.num_layers * model.hidden_size
    place = size * (units // model.frame) + _LOGIT_BYTES * model.vocabulary_size
    return 4 * parameters * (2 + moments) + places * place


def grown(origin: Checkpoint, corpus: Corpus, ends: bool, seed: int, notice: Notice) -> Checkpoint:
    """The checkpoint with the codec of the data, which grew from its own, and a network to match.

    `ends`: whether the network is to learn where documents end. New weights are drawn by the seed.
    """
    old, codec, ends = origin.codec, corpus.codec, ends or bool(origin.model.ends)
    network = origin.build(torch.device("cpu"))
    numbers, grows = np.arange(old.size), codec.to_spec() != old.to_spec()
    if isinstance(old, Characters) and isinstance(codec, Characters) and grows:
        numbers = codec.encode(old.vocabulary).astype(np.int64)
        new = np.setdiff1d(np.arange(codec.size), numbers)
        shown = " ".join(repr(codec.decode([symbol])) for symbol in new[:_SHOWN])
        more = f" and {len(new) - _SHOWN} more" if len(new) > _SHOWN else ""
        notice(
            f"{counted(len(new), 'character is', 'characters are')} new: {shown}{more}; "
            f"the vocabulary grows from {old.size} to {codec.size}"
        )
    if grows or ends != origin.model.ends:
        now, generator = torch.from_numpy(numbers), torch.Generator().manual_seed(seed)
        network = with_vocabulary(network, now, codec.size, generator, ends)
    weights = dict(network.state_dict())
    return dataclasses.replace(
        origin, model=network.config, codec=codec, labels=corpus.labels, weights=weights
    )


@torch.no_grad()
def with_vocabulary(
    model: CharRNN, numbers: Tensor, size: int, generator: torch.Generator, ends: bool = False
) -> CharRNN:
    """The network for a vocabulary of `size` symbols that holds those it knows.

    What belongs to a known symbol is kept: its input weights, its row of the head and its bias. A
    new symbol starts with fresh ones. In the head they are added to the mean of the known rows,
    which keeps the new symbols unlikely: by Jensen's inequality, the mean of n logits adds at most
    one part in n to the sum of their exponentials. Spare logits are used before any are added.

    Args:
        model: the network, with V logits, on the CPU.
        numbers: what its symbols 0 … N-1 are called in the larger vocabulary, (N,), N at most V.
        size: of the larger vocabulary.
        generator: draws the fresh weights.
        ends: whether the last logit is that of the end of a document, after which none is spare:
            it is new if `model` has none.
    """
    config = model.config
    logits = size + 1 if ends else max(size, config.vocabulary_size)
    grown = CharRNN(dataclasses.replace(config, vocabulary_size=logits, ends=ends), generator)
    beyond = [torch.arange(size, logits)] * 2  # the numbers of what else is kept: now, and before
    if ends:
        kept = torch.arange(config.symbols, config.vocabulary_size)
        beyond = [kept - config.symbols + size, kept]
    now = torch.cat([numbers, beyond[0]])
    before = torch.cat([torch.arange(len(numbers)), beyond[1]])
    trained = model.state_dict()
    for name, values in grown.state_dict().items():
        old = trained[name]
        if name.startswith("head."):
            values.add_(old[: len(numbers)].mean(0))
            values[now] = old[before]
        elif name == "embedding.weight":
            values[now] = old[before]
        elif name == "layers.0.weight_ih_l0" and model.embedding is None:
            values[:, now] = old[:, before]
        else:
            values.copy_(old)
    return grown
