"""What a training does with sound: silence left out, codes told, the recording and errors kept."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqkit.config import Config, DataConfig, ModelConfig
from seqkit.data import augmentation, transposition
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.sound.pitch import PitchBook
from seqkit.evaluation.recording import Recording
from seqkit.foundation.console import Progress
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.ranks import Ranks
from seqkit.foundation.wording import duration
from seqkit.generation.slow_tier import SlowTier
from seqkit.runs.checkpoint import Checkpoint
from seqkit.stages import build_network, learn_slow_tier

_MOST = 600  # seconds of a corpus that are compared with
_STRETCHES = 20  # that these are taken from, where it is longer


class Sound(NamedTuple):
    """The parts as they are learnt and validated on, and of sound what is known of it."""

    model: ModelConfig
    training: Part
    validation: Part
    slow: SlowTier | None
    recording: Recording | None
    prediction: tuple[Tensor, Tensor] | None


def hear(
    config: Config,
    corpus: Corpus,
    model: ModelConfig,
    training: Part,
    validation: Part,
    saved: Checkpoint | None,
    origin: Checkpoint | None,
    ranks: Ranks,
    notice: Callable[[str], None],
    progress: Progress,
) -> Sound:
    """What a training does with sound before its network is made; text is left as it is."""
    training = training_part(training, corpus, config.data, notice)
    validation = heard(validation, corpus, config.data)
    own, codec = training, corpus.codec
    if config.data.conditions == PitchBook.kind and isinstance(codec, Quantiser):
        training = transposition.with_copies(own, codec, config.fixed_seed)
    given = config, corpus, own, training, saved, origin, progress
    slow = ranks.shared(lambda: _slow_tier(*given))
    if slow is not None:
        model = build_network.with_codes(model, slow.codebook.size)
        book = slow.codebook
        notice(f"told by {book.size - 1} codes, {book.frame_rate} a second (data.conditions)")
    training, validation = (told(p, corpus, slow) for p in (training, validation))
    prediction = None
    if origin is None:
        of_prediction = training, corpus, model, config.data, slow
        prediction = ranks.shared(lambda: _prediction_of(*of_prediction))
    recording = ranks.shared(lambda: _recording(config, corpus, saved))
    return Sound(model, training, validation, slow, recording, prediction)


def heard(part: Part, corpus: Corpus, data: DataConfig) -> Part:
    """A part, of sound without the silence that `data.trim_silence` names."""
    codec = corpus.codec
    if not isinstance(codec, Quantiser) or not len(part) or not data.trim_silence:
        return part
    return augmentation.without_silence(part, codec, data.trim_silence)


def told(part: Part, corpus: Corpus, slow: SlowTier | None) -> Part:
    """A part, of sound with the codes of a slow tier, if there is one."""
    if slow is None or not isinstance(corpus.codec, Quantiser) or not len(part):
        return part
    return augmentation.told(part, corpus.codec, slow.codebook)


def training_part(
    part: Part, corpus: Corpus, data: DataConfig, notice: Callable[[str], None]
) -> Part:
    """The training part; of sound without silence, as `data.trim_silence` asks for.

    Raises:
        ConfigError: that, or something else that is for sound, is asked for, and this is text.
    """
    codec = corpus.codec
    if not isinstance(codec, Quantiser):
        if data.conditions != "none":
            raise ConfigError(f"data.conditions={data.conditions} is for sound, and this is text")
        for key in ("copies", "trim_silence"):
            if value := getattr(data, key):
                raise ConfigError(f"data.{key}={value:g} is for sound, and this is text")
        return part
    learnt, rate, said = heard(part, corpus, data), codec.symbol_rate, list[str]()
    left_out = f"{(len(part) - len(learnt)) / rate:.1f}"
    if float(left_out):
        said.append(f"{left_out} s of silence left out (data.trim_silence)")
    if data.copies:
        times = f"{data.copies} of {data.copies + 1} times"
        said.append(f"read with errors {times} (data.copies)")
    if said:
        notice(f"{duration(len(learnt) / rate)} of sound to learn from: {', '.join(said)}")
    return learnt


def _prediction_of(
    part: Part, corpus: Corpus, model: ModelConfig, data: DataConfig, slow: SlowTier | None
) -> tuple[Tensor, Tensor] | None:
    """What `CharRNN.predict` takes, of a training part told by codes, if a network reads that."""
    codec = corpus.codec
    if not model.lookback or not isinstance(codec, Quantiser):
        return None
    book = slow.codebook if slow else None
    own, weights = augmentation.learn_prediction(part, codec, data, model.lookback, book)
    levels = torch.full((model.vocabulary_size,), torch.inf)
    levels[: len(own)] = torch.from_numpy(own)
    return levels, torch.from_numpy(weights)


def errors_of(corpus: Corpus, config: Config, slow: SlowTier | None) -> augmentation.Errors | None:
    """What the training reads wrong, and how often it is told no labels."""
    codec, data, steps = corpus.codec, config.data, config.train.sequence_length
    found = None
    if isinstance(codec, Quantiser):
        book = slow.codebook if slow else None
        found = augmentation.errors_of(codec, data, steps, config.fixed_seed, book)
    if corpus.labels is None:
        return found
    found = found or augmentation.NO_ERRORS
    return dataclasses.replace(found, label_numbers=corpus.labels.numbers)


def _slow_tier(
    config: Config,
    corpus: Corpus,
    own: Part,
    copied: Part,
    saved: Checkpoint | None,
    origin: Checkpoint | None,
    progress: Progress,
) -> SlowTier | None:
    """That of the run that goes on, or a new one, with the codes of the weights to start from.

    Its codes are of a training part and its copies, and it writes those of the part.

    Raises:
        ConfigError: those weights read no codes, or others.
    """
    codec = corpus.codec
    if config.data.conditions == "none" or not isinstance(codec, Quantiser):
        return None
    if saved is not None:
        return saved.slow
    kind, seed = config.data.conditions, config.fixed_seed
    if origin is None:
        book = augmentation.learn_codes(copied, codec, seed, kind)
    elif origin.slow is None or (book := origin.slow.codebook).kind != kind:
        raise ConfigError(
            f"init_from={config.init_from}: its network does not read data.conditions={kind}: "
            "give those that it was trained with"
        )
    labels = corpus.labels.sizes if corpus.labels else []
    return learn_slow_tier.learn(own, codec, seed, progress, book, labels)


def _recording(config: Config, corpus: Corpus, saved: Checkpoint | None) -> Recording | None:
    """That of the run that goes on, or what is kept of the corpus; None of text, of silence, or of
    sounds with labels."""
    if saved is not None and saved.recording is not None:
        return saved.recording
    if not isinstance(corpus.codec, Quantiser) or corpus.labels is not None:
        return None  # a sound with one label need not be like all of them
    try:
        return recording_of(corpus, config.data)
    except DataError:
        return None


def recording_of(corpus: Corpus, data: DataConfig) -> Recording:
    """The sound of a corpus as it is learnt, to compare with; of a long one some stretches.

    Raises:
        DataError: it is too short, or silent.
    """
    codec, part = corpus.codec, corpus.whole
    assert isinstance(codec, Quantiser)
    symbols = part.symbols
    most = _MOST * codec.symbol_rate
    if len(symbols) > most:
        length = most // _STRETCHES
        begins = np.linspace(0, len(symbols) - length, _STRETCHES).astype(int)
        begins -= begins % codec.phases
        pieces = [symbols[begin : begin + length] for begin in begins]
        part = Part.of(*pieces, frame=part.frame)
    if data.trim_silence:
        part = augmentation.without_silence(part, codec, data.trim_silence)
    try:
        return Recording.of(codec.decode(part.symbols[:]), codec.sample_rate)
    except ValueError as error:
        raise DataError(f"{corpus.name}: nothing to compare a sound with: {error}") from error
