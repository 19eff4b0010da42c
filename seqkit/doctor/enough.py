"""Whether there are data enough to train on."""

import math

from seqkit.config import Config
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.errors import DataError


def require_enough(config: Config, corpus: Corpus, training: Part) -> None:
    """Refuse data of which a training with this config would find too little.

    Raises:
        DataError: with the least that it needs, and how much there is.
    """
    needed = 2 * config.train.sequence_length
    if len(training) >= needed:
        return
    whole, there = math.ceil(needed / config.data.split[0]), len(corpus.whole)
    least, has = f"{whole} symbols", f"{there}"
    if isinstance(codec := corpus.codec, Quantiser):
        least += f", {whole / codec.symbol_rate:.2g} s,"
        has += f", {there / codec.symbol_rate:.2g} s"
    recipe = f" for recipe={config.recipe}" if config.recipe else ""
    raise DataError(
        f"too little data{recipe}: the training part has {len(training)} "
        f"symbols, and train.sequence_length={config.train.sequence_length} needs {needed}: "
        f"give at least {least} in all, where there are {has}, or a smaller train.sequence_length"
    )
