"""The network of a training, its lanes, the weights that it starts from, and how it runs."""

import dataclasses
from collections.abc import Callable

import numpy as np
import torch

from seqkit.config import ARITHMETIC_KEYS, Config, ModelConfig, check_model
from seqkit.data import codecs
from seqkit.data.codecs import Codec, Quantiser, TextCodec
from seqkit.data.corpus import Corpus, Part
from seqkit.data.lanes import Lanes
from seqkit.foundation.console import Progress
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.processes import Rank
from seqkit.foundation.wording import counted
from seqkit.model.char_rnn import CharRNN, with_label_values, with_vocabulary
from seqkit.model.execution import Execution
from seqkit.runs import named_checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.symbols import Integers
from seqkit.training import kernel_choice

_OF_DATA = ("vocabulary_size", "conditions", "labels")  # keys that by default are as the data is
_SHOWN = 20  # new characters that are named


def initial(
    config: Config, catalogue: Catalogue, notice: Callable[[str], None], progress: Progress
) -> Checkpoint | None:
    """The checkpoint whose weights a new run starts from, if it is given one."""
    if config.init_from is None:
        return None
    return named_checkpoint.read(config.init_from, catalogue, notice, progress)


def grown(
    origin: Checkpoint, corpus: Corpus, ends: bool, seed: int, notice: Callable[[str], None]
) -> Checkpoint:
    """The checkpoint with the codec and the labels of the data, and a network to match.

    Args:
        origin: the checkpoint.
        corpus: the data; its codec is the checkpoint's own, or grew from it, and of each label the
            checkpoint knows the first values, or none.
        ends: whether the network is to learn where documents end.
        seed: of the weights of what is new.
        notice: told what is new.

    Raises:
        ConfigError: the network reads one-hot symbols, and is to read labels.
        DataError: a plug-in's codec grew in a way that cannot be.
    """
    old, codec, ends = origin.codec, corpus.codec, ends or origin.model.ends
    network = origin.build(torch.device("cpu"))
    numbers, grows = np.arange(old.size), codec.to_spec() != old.to_spec()
    if isinstance(old, TextCodec) and isinstance(codec, TextCodec) and grows:
        numbers = _numbers(old, codec)
        _tell_new(old, codec, numbers, notice)
    if grows or ends != origin.model.ends:
        now, generator = torch.from_numpy(numbers), torch.Generator().manual_seed(seed)
        network = with_vocabulary(network, now, codec.size, generator, ends)
    labels, known = corpus.labels, origin.labels.values if origin.labels else {}
    if labels is not None and labels.values != known:
        if origin.model.input != "embedding":
            raise ConfigError(
                "data.label: the network to start from reads one-hot symbols, beside which no "
                "label fits: start from one that was trained with model.input=embedding"
            )
        pairs = labels.values.items()
        new = [value for name, own in pairs for value in own[len(known.get(name, [])) :]]
        more = " …" if len(new) > _SHOWN else ""
        notice(f"{counted(len(new), 'label is', 'labels are')} new: {' '.join(new[:_SHOWN])}{more}")
        generator = torch.Generator().manual_seed(seed)
        network = with_label_values(network, labels.sizes, generator)
    weights = dict(network.state_dict())
    return dataclasses.replace(
        origin, model=network.config, codec=codec, labels=labels, weights=weights
    )


def _tell_new(old: Codec, codec: Codec, numbers: Integers, notice: Callable[[str], None]) -> None:
    """Tell which symbols of a codec the old one, whose are called `numbers` in it, lacks."""
    new = np.setdiff1d(np.arange(codec.size), numbers)
    shown = " ".join(repr(codec.decode([symbol])) for symbol in new[:_SHOWN])
    more = f" and {len(new) - _SHOWN} more" if len(new) > _SHOWN else ""
    notice(
        f"{counted(len(new), 'character is', 'characters are')} new: {shown}{more}; "
        f"the vocabulary grows from {old.size} to {codec.size}"
    )


def _numbers(old: TextCodec, codec: TextCodec) -> Integers:
    """What the symbols of `old` are called in `codec`, (V,), distinct."""
    with codecs.failures(type(old), "numbers_in"):
        numbers = np.asarray(old.numbers_in(codec)).astype(np.int64)
        known = np.unique(numbers)
        if numbers.shape != (old.size,) or known.size < old.size:
            raise ValueError(f"not a number for each of the {old.size} symbols")
        if known[0] < 0 or known[-1] >= codec.size:
            raise ValueError(f"a number outside the {codec.size} symbols")
        return numbers


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
    size = corpus.codec.size + wanted.ends
    if wanted.vocabulary_size and wanted.vocabulary_size < size:
        raise ConfigError(
            f"model.vocabulary_size={wanted.vocabulary_size}: the data has {size} symbols; "
            "give at least as many, or 0"
        )
    if wanted.ends and wanted.vocabulary_size > size:
        raise ConfigError(
            f"model.vocabulary_size={wanted.vocabulary_size}: with model.ends=true there are "
            f"{size} logits: leave it out"
        )
    codec, lookback = corpus.codec, wanted.lookback
    if lookback and not isinstance(codec, Quantiser):
        raise ConfigError(f"model.lookback={lookback} is for sound, and this is text")
    if isinstance(codec, Quantiser) and codec.symbols_per_sample > 1:
        lookback = 0  # a coarse digit alone is no sample
    if corpus.labels and wanted.input != "embedding":
        raise ConfigError(
            "one-hot symbols have no room for labels beside them: give model.input=embedding, too"
        )
    made = dataclasses.replace(
        wanted,
        vocabulary_size=wanted.vocabulary_size or size,
        lookback=lookback,
        labels=corpus.labels.sizes if corpus.labels else [],
    )
    check_model(made)
    return made


def with_codes(model: ModelConfig, count: int) -> ModelConfig:
    """The network that reads so many codes. Raises ConfigError: it cannot, or not so many."""
    if model.conditions and model.conditions < count:
        raise ConfigError(f"model.conditions={model.conditions}: there are {count}: leave it out")
    made = dataclasses.replace(model, conditions=model.conditions or count)
    check_model(made)
    return made


def with_model(config: Config, model: ModelConfig) -> Config:
    """The config with the network that is trained: weights to start from bring their own."""
    own = {key: getattr(config.model, key) and getattr(model, key) for key in _OF_DATA}
    own["lookback"] = model.lookback or config.model.lookback  # which some sound does without
    return dataclasses.replace(config, model=dataclasses.replace(model, **own))


def lanes(
    config: Config,
    part: Part,
    start: int,
    model: ModelConfig,
    rank: Rank,
    notice: Callable[[str], None],
) -> Lanes:
    """The lanes of this process."""
    train = config.train
    shift_seed = config.fixed_seed if train.shift_lanes else None
    several = len(part.starts) > 1
    if config.model.ends and not several:
        raise ConfigError(
            "model.ends=true: the training part is one document, or the beginning of one, and "
            "ends nowhere: give a folder in which each document is a file"
        )
    end = model.symbols if model.ends and several else None
    lanes = Lanes(part, start, train.batch_size, train.sequence_length, shift_seed, end)
    lanes.share_out(rank.number, rank.size)
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
    if with_model(config, model) != config:
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
