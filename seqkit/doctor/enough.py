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
    least, there = math.ceil(needed / config.data.split[0]), len(corpus.whole)
    wanted, has = f"{least:,} symbols", f"{there:,} symbols"
    if isinstance(codec := corpus.codec, Quantiser):
        wanted, has = f"{least / codec.symbol_rate:.2g} s", f"{there / codec.symbol_rate:.2g} s"
    recipe = f"recipe={config.recipe}" if config.recipe else "this training"
    raise DataError(
        f"too little data: {has}, and {recipe} with train.sequence_length="
        f"{config.train.sequence_length} needs more: give at least {wanted}"
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
