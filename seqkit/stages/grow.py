"""The weights to start from get symbols for what is new in the data."""

import dataclasses

import numpy as np
import torch

from seqkit.data.codecs import Characters, Codec
from seqkit.data.corpus import Corpus
from seqkit.foundation.session import Notice
from seqkit.foundation.wording import counted
from seqkit.model.growth import with_vocabulary
from seqkit.runs.checkpoint import Checkpoint
from seqkit.symbols import Integers

_SHOWN = 20  # new characters that are named


def grown(origin: Checkpoint, corpus: Corpus, ends: bool, seed: int, notice: Notice) -> Checkpoint:
    """The checkpoint with the codec of the data, and a network to match.

    Args:
        origin: the checkpoint.
        corpus: the data; its codec is the checkpoint's own, or grew from it.
        ends: whether the network is to learn where documents end.
        seed: of the weights of what is new.
        notice: told what is new.
    """
    old, codec, ends = origin.codec, corpus.codec, ends or bool(origin.model.ends)
    network = origin.build(torch.device("cpu"))
    numbers, grows = np.arange(old.size), codec.to_spec() != old.to_spec()
    if isinstance(old, Characters) and isinstance(codec, Characters) and grows:
        numbers = old.numbers_in(codec).astype(np.int64)
        _tell_new(old, codec, numbers, notice)
    if grows or ends != origin.model.ends:
        now, generator = torch.from_numpy(numbers), torch.Generator().manual_seed(seed)
        network = with_vocabulary(network, now, codec.size, generator, ends)
    weights = dict(network.state_dict())
    return dataclasses.replace(
        origin, model=network.config, codec=codec, labels=corpus.labels, weights=weights
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
