"""Whether there are data enough to train on."""

import math

from seqkit.config import Config
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.doctor.sound_faults import LEAST
from seqkit.foundation.errors import DataError

_LEAST_SOUND = 1.0  # seconds


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
    fits = len(training) // 2 // training.frame * training.frame
    shorter = f", or at most train.sequence_length={fits}" if fits else ""
    recipe = f" for recipe={config.recipe}" if config.recipe else ""
    raise DataError(
        f"too little data{recipe}: the training part has {len(training)} "
        f"symbols, and train.sequence_length={config.train.sequence_length} needs {needed}: "
        f"give at least {least} in all, where there are {has}{shorter}"
    )


def require_sound(config: Config, corpus: Corpus) -> None:
    """Refuse sound so short that a training by the clock would spend its minutes on nothing.

    Raises:
        DataError: with the least that is taken, and the least that is worth while.
    """
    if not config.train.max_minutes or not isinstance(codec := corpus.codec, Quantiser):
        return
    seconds = len(corpus.whole) / codec.symbol_rate
    if seconds < _LEAST_SOUND:
        raise DataError(
            f"too little data: from {seconds:.2g} s of sound nothing can be learnt: give at least "
            f"{_LEAST_SOUND:g} s; {LEAST:g} s is the least that makes anything like it"
        )
