"""The weights to start from get symbols and labels for what is new in the data."""

import dataclasses

import numpy as np
import torch

from seqkit.data import codecs
from seqkit.data.codecs import Codec, TextCodec
from seqkit.data.corpus import Corpus
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Notice
from seqkit.foundation.wording import counted
from seqkit.model.growth import with_label_values, with_vocabulary
from seqkit.runs.checkpoint import Checkpoint
from seqkit.symbols import Integers

_SHOWN = 20  # new characters that are named


def grown(origin: Checkpoint, corpus: Corpus, ends: bool, seed: int, notice: Notice) -> Checkpoint:
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
    old, codec, ends = origin.codec, corpus.codec, ends or bool(origin.model.ends)
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
        new = [value for name, values in pairs for value in values[len(known.get(name, [])) :]]
        more = " …" if len(new) > _SHOWN else ""
        notice(f"{counted(len(new), 'label is', 'labels are')} new: {' '.join(new[:_SHOWN])}{more}")
        generator = torch.Generator().manual_seed(seed)
        network = with_label_values(network, labels.sizes, generator)
    weights = dict(network.state_dict())
    return dataclasses.replace(
        origin, model=network.config, codec=codec, labels=labels, weights=weights
    )


def _tell_new(old: Codec, codec: Codec, numbers: Integers, notice: Notice) -> None:
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
