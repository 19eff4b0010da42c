"""The parts of a corpus that a training learns and is validated on."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from seqkit.advice.faults import require_enough
from seqkit.config import DataConfig
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.silence import without_silence
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.session import Notice
from seqkit.foundation.wording import duration, first_of
from seqkit.stages.read_corpus import Reading

_HEARD = 1 << 19  # samples by which channels are compared
_CANCELLED = 0.01  # of the power of two channels, what is left in mono


@dataclass(frozen=True)
class Parts:
    """What is learnt and what is validated on, of sound without silence.

    corpus: that they are from, its labels counted in the training part.
    unabridged: the training part, silence included.
    """

    corpus: Corpus
    training: Part
    validation: Part
    unabridged: Part


def cut_parts(reading: Reading, notice: Notice) -> Parts:
    """Split the corpus.

    Raises:
        DataError: it is too little for a window, or its channels cancel out in mono.
        ConfigError: what is for sound is asked of text.
    """
    config, corpus, codec = reading.config, reading.corpus, reading.corpus.codec
    training, validation, _ = corpus.split(config.data.split)
    require_enough(config, corpus, training)
    corpus = _with_counts(corpus, training, notice)
    if not isinstance(codec, Quantiser):
        _refuse_keys_of_sound(config.data)
        return Parts(corpus, training, validation, training)
    quiet = config.data.trim_silence
    kept, judged = (trimmed(SoundPart(part, codec), quiet) for part in (training, validation))
    if codec.channels > 1:
        _refuse_antiphase(kept, corpus.name)
    if codec.bands > 1:
        notice(f"codec: {_bands_in_words(codec)}; rounding lies {corpus.snr or 0:.0f} dB below")
    _tell_changes(training, kept, config.data, notice)
    return Parts(corpus, kept.part, judged.part, training)


def trimmed(sound: SoundPart, decibels: float) -> SoundPart:
    """A part without silence, as `data.trim_silence` asks for."""
    return without_silence(sound, decibels) if decibels and len(sound.part) else sound


def _with_counts(corpus: Corpus, training: Part, notice: Notice) -> Corpus:
    """The corpus with its labels counted in the training part; what that lacks is told."""
    if corpus.labels is None or training.labels is None:
        return corpus
    labels = corpus.labels.counted(training.labels)
    notice(f"labels (data.label): {labels.summary}")
    learnt = {pair for combination in labels.counts for pair in labels.named(combination).items()}
    missing = [v for name, each in labels.values.items() for v in each if (name, v) not in learnt]
    if missing:
        shown = first_of(missing)
        notice(f"the training part has no document labelled {shown}: these are not learnt")
    return dataclasses.replace(corpus, labels=labels)


def _refuse_keys_of_sound(data: DataConfig) -> None:
    if data.conditions != "none":
        raise ConfigError(f"data.conditions={data.conditions} is for sound, and this is text")
    for key in ("copies", "trim_silence"):
        if value := getattr(data, key):
            raise ConfigError(f"data.{key}={value:g} is for sound, and this is text")


def _refuse_antiphase(sound: SoundPart, name: str) -> None:
    """Raise DataError if little is left of two channels in mono, in which sound is judged."""
    frames = sound.frames(0, min(len(sound), _HEARD))
    if np.square(frames.mean(1)).mean() < _CANCELLED * np.square(frames).mean():
        raise DataError(
            f"{name}: left and right are in antiphase, and cancel out in mono: give "
            "data.channels=1 data.channel=0, or invert one of them"
        )


def _bands_in_words(codec: Quantiser) -> str:
    """The bands of a codec, and the emphasis of each that is not empty."""
    bands = set(codec.used // codec.channels)
    empty = f" ({codec.bands - len(bands)} empty)" if len(bands) < codec.bands else ""
    width = codec.sample_rate / 2 / codec.bands
    emphases = ", ".join(f"{codec.band_emphases[column]:g}" for column in codec.used)
    both, apart = "", len(codec.used) - len(bands)
    if codec.turns is not None and apart:
        both = f" ({apart} tell left and right apart)"
    return f"{codec.bands} bands of {width:g} Hz{empty}{both}, emphasis {emphases} (data.emphasis)"


def _tell_changes(training: Part, kept: SoundPart, data: DataConfig, notice: Notice) -> None:
    """Tell what is left out of the sound, and how often it is read with errors."""
    rate, changes = kept.codec.symbol_rate, list[str]()
    left_out = f"{(len(training) - len(kept.part)) / rate:.1f}"
    if float(left_out):
        changes.append(f"{left_out} s of silence left out (data.trim_silence)")
    if data.copies:
        changes.append(f"data.copies adds errors in {data.copies} of {data.copies + 1} passes")
    if changes:
        seconds = duration(len(kept.part) / rate)
        notice(f"{seconds} of sound to learn from: {', '.join(changes)}")
