"""What the network of a training reads beside the symbols, and what its sound is judged by."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch

from seqkit.config import DataConfig, ModelConfig, check_model
from seqkit.data import reading_errors
from seqkit.data.codecs import Quantiser, SoundCodec
from seqkit.data.corpus import Corpus, Part
from seqkit.data.heard import hear, source_of
from seqkit.data.lanes import window_length
from seqkit.data.reading_errors import Errors
from seqkit.data.sound import pitch, prediction, slow_codes
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.pitch import PitchBook
from seqkit.data.sound.slow_codes import Codebook
from seqkit.data.source import Source
from seqkit.evaluation.recording import Recording
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.session import Session
from seqkit.generation.slow_tier import SlowTier
from seqkit.model.linear_predictor import LinearPredictor
from seqkit.stages.data import TrainingData
from seqkit.stages.learn_slow_tier import learn_writer

_PREDICTED = 300  # seconds that a linear prediction is learnt from


@dataclass(frozen=True)
class ConditionedParts:
    """The parts with the conditions that a network reads, and what these come from.

    model: the network, which has room for all codes.
    training, validation: with their codes; to learn from, also copies in other keys.
    slow: codebook and writer of codes, of sound that has codes.
    predictor: of the linear prediction, if a new network is to read one.
    recording: that sounds are compared with, if there is enough of it.
    errors: with which the training reads.
    """

    model: ModelConfig
    training: Part
    validation: Part
    slow: SlowTier | None = None
    predictor: LinearPredictor | None = None
    recording: Recording | None = None
    errors: Errors | None = None


def find_conditions(data: TrainingData, model: ModelConfig, session: Session) -> ConditionedParts:
    """Find the codes of sound, its linear prediction, and what it is compared with.

    Raises:
        ConfigError: the weights to start from read no codes, or others.
    """
    config, ranks, codec = data.config, session.ranks, data.corpus.codec
    if codec.kind != "audio":
        errors = _with_labels(None, data.corpus)
        return ConditionedParts(model, data.training, data.validation, errors=errors)
    learnt, validation = (SoundPart(part, codec) for part in (data.training, data.validation))
    slow = ranks.shared(lambda: _slow_tier(data, learnt, session))
    book, part, judged = None, data.training, data.validation
    if slow is not None:
        book = slow.codebook
        model = with_codes(model, book.size)
        count, rate = book.size - 1, book.frame_rate
        session.notice(f"codes: {count} kinds of sound, {rate} a second (data.conditions)")
        part, judged = coded(learnt, book), coded(validation, book)
    predictor = None
    if data.start is None and model.lookback:
        predictor = ranks.shared(lambda: _predictor_of(part, codec, config.data, model, book))
    recording = ranks.shared(lambda: _recording_to_keep(data, session))
    window = window_length(config.train.sequence_length, codec)
    errors = reading_errors.errors_of(codec, config.data, window)
    errors = _with_labels(errors, data.corpus)
    return ConditionedParts(model, part, judged, slow, predictor, recording, errors)


def with_room(model: ModelConfig, data: DataConfig) -> ModelConfig:
    """The network that reads as many codes as `data.conditions` can find."""
    if data.conditions == "none":
        return model
    return with_codes(model, model.conditions or slow_codes.MOST + 1)


def with_codes(model: ModelConfig, count: int) -> ModelConfig:
    """The network that reads so many codes. Raises ConfigError: it cannot, or not so many."""
    if model.conditions and model.conditions < count:
        raise ConfigError(f"model.conditions={model.conditions}: there are {count}: leave it out")
    conditioned = dataclasses.replace(model, conditions=model.conditions or count)
    check_model(conditioned)
    return conditioned


def coded(sound: SoundPart, book: Codebook) -> Part:
    """A part of sound with its codes."""
    part = sound.part
    if not len(part):
        return part
    row = book.codes(book.describe(sound))
    codes = np.repeat(row, sound.codec.symbols_of(book.hop))[: len(part)]
    return dataclasses.replace(part, codes=codes)


def learn_codes(sound: SoundPart, seed: int, kind: str = Codebook.kind) -> Codebook:
    """The codes of a part of sound, of the kind that `data.conditions` names."""
    rate = sound.codec.sample_rate
    if kind == PitchBook.kind:
        return pitch.learn(sound, rate)
    return slow_codes.learn(sound, rate, seed)


def _slow_tier(data: TrainingData, learnt: SoundPart, session: Session) -> SlowTier | None:
    """That of the run that goes on, or a new one, with the codes of the weights to start from.

    Its codes are found in what is learnt; its writer learns those of the part.
    """
    config = data.config
    kind, seed = config.data.conditions, config.fixed_seed
    if kind == "none":
        return None
    if data.saved is not None:
        return data.saved.slow
    if data.other is None:
        book = learn_codes(learnt, seed, kind)
    elif data.other.slow is None or (book := data.other.slow.codebook).kind != kind:
        raise ConfigError(
            f"init_from={config.init_from}: its network does not read data.conditions={kind}: "
            "give those that it was trained with"
        )
    labels = data.corpus.labels.sizes if data.corpus.labels else []
    return learn_writer(coded(learnt, book), learnt.codec, book, seed, labels, session.progress)


def _predictor_of(
    part: Part, codec: SoundCodec, data: DataConfig, model: ModelConfig, book: Codebook | None
) -> LinearPredictor:
    """What predicts sound whose past has the noise of `data.copy_noise`.

    Of P symbols in a frame each has weights of its own, for those at its place in frames before.
    """
    assert isinstance(codec, Quantiser)
    values = codec.values
    count = _PREDICTED * codec.sample_rate
    symbols = part.symbols[:count]
    wave = values[symbols]
    step = data.copy_noise * codec.levels / 256 * np.gradient(values)[symbols]
    noise = np.square(step)
    size, hop = 1, codec.symbols_of(codec.sample_rate / slow_codes.FRAMES)
    if book is not None:
        size, hop = book.size, codec.symbols_of(book.hop)
    known = part.codes
    codes = np.zeros(len(wave), np.uint8) if known is None else known[: len(wave)]
    frames, phases = codes[::hop], codec.phases
    of_places = [
        prediction.learn(*row, frames, hop // phases, size, model.lookback)
        for row in ((wave[p::phases], noise[p::phases]) for p in range(phases))
    ]
    weights = of_places[0] if phases == 1 else np.stack(of_places, 1)
    levels = torch.full((model.vocabulary_size,), torch.inf)
    levels[: len(values)] = torch.from_numpy(values)
    return LinearPredictor(levels, torch.from_numpy(weights))


def _with_labels(errors: Errors | None, corpus: Corpus) -> Errors | None:
    """The errors with which a network reads; with labels there are some: it may read none."""
    return errors or (reading_errors.NO_ERRORS if corpus.labels else None)


def _recording_to_keep(data: TrainingData, session: Session) -> Recording | None:
    """That of the run that goes on, or what is kept of the corpus; None of silence, or of sounds
    with labels."""
    saved = data.saved
    if saved is not None and saved.recording is not None:
        return saved.recording
    corpus = data.corpus
    if corpus.codec.kind != "audio" or corpus.labels is not None:
        return None  # a sound with one label need not be like all of them
    try:
        source = source_of(data.source, session)
        return recording_of(source, corpus.codec.sample_rate)
    except DataError:
        return None


def recording_of(source: Source, rate: int) -> Recording:
    """What sounds are compared with, at a rate in hertz. Raises DataError: too short, or silent."""
    try:
        return Recording.of(hear(source, rate), rate)
    except ValueError as error:
        name = source.located.name
        raise DataError(f"{name}: nothing to compare a sound with: {error}") from error
