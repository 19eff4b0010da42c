"""The checkpoint that a new run starts from, its vocabulary grown by what is new in the data."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from seqkit.config import Config, DataConfig
from seqkit.data import codecs
from seqkit.data.codecs import Codec, TextCodec
from seqkit.foundation.plugins import Catalogue
from seqkit.model.char_rnn import with_vocabulary
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.checkpoint import load as read_checkpoint
from seqkit.runs.layout import find_checkpoint
from seqkit.symbols import Integers

_SHOWN = 20  # new characters that are named


def initial(config: Config, catalogue: Catalogue) -> Checkpoint | None:
    """The checkpoint whose weights a new run starts from, if it is given one."""
    if config.init_from is None:
        return None
    return read_checkpoint(find_checkpoint(Path(config.init_from), "init_from"), catalogue)


def may_grow(data: DataConfig) -> bool:
    """Whether new characters get symbols, rather than what `data.unknown` says.

    Where the vocabulary has a limit they do up to there, and the rest is unknown.
    """
    return data.unknown == "error" or data.max_vocabulary > 0


def grown(origin: Checkpoint, codec: Codec, seed: int, notice: Callable[[str], None]) -> Checkpoint:
    """The checkpoint with `codec`, its own or one that grew from it, and a network to match.

    Args:
        origin: the checkpoint.
        codec: that of the data.
        seed: of the weights of new symbols.
        notice: told what is new.

    Raises:
        DataError: a plug-in's codec grew in a way that cannot be.
    """
    old = origin.codec
    if not isinstance(old, TextCodec) or not isinstance(codec, TextCodec):
        return origin
    if codec.to_spec() == old.to_spec():
        return origin
    numbers = _numbers(old, codec)
    new = np.setdiff1d(np.arange(codec.size), numbers)
    shown = " ".join(repr(codec.decode([symbol])) for symbol in new[:_SHOWN])
    more = f" and {len(new) - _SHOWN} more" if len(new) > _SHOWN else ""
    notice(
        f"{len(new)} {'character is' if len(new) == 1 else 'characters are'} new: {shown}{more}; "
        f"the vocabulary grows from {old.size} to {codec.size}"
    )
    network = with_vocabulary(
        origin.build(torch.device("cpu")),
        torch.from_numpy(numbers),
        codec.size,
        torch.Generator().manual_seed(seed),
    )
    weights = dict(network.state_dict())
    return dataclasses.replace(origin, model=network.config, codec=codec, weights=weights)


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
