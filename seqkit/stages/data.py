"""The data of a training: read as the weights to start from want them, and cut into parts.

And the recording that its sounds are compared with, as it was before it was encoded.
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from seqkit.advice import faults
from seqkit.config import DataConfig, TrainConfig
from seqkit.data.codecs import SoundCodec, Spectral, UnknownSymbolError
from seqkit.data.corpus import Corpus, Part
from seqkit.data.datasets import Folders, Source
from seqkit.data.files import BadFileError
from seqkit.data.load import Known, find, load_corpus, require_cut
from seqkit.data.sound import Wave, centred
from seqkit.data.sound.encoder import SHORTEST, SILENT
from seqkit.data.sound.part import paths, wave_without_silence, without_silence
from seqkit.data.sound.reader import SoundReader
from seqkit.evaluation.recording import Recording
from seqkit.foundation import disk
from seqkit.foundation.console import Notice
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.ranks import Session
from seqkit.foundation.wording import duration

_MOST = 600  # seconds of a recording
_MOST_FAULTS = 2  # of the data, the worst, that a training tells; `doctor` tells all


@dataclass(frozen=True)
class TrainingData:
    """The data of a training as symbols, the parts of sound without silence.

    keys: those that they were read by, with paths on this machine.
    corpus: all of them, their labels as the training part combines them.
    training, validation: their parts.
    unabridged: the training part, silence included.
    """

    keys: DataConfig
    corpus: Corpus
    training: Part
    validation: Part
    unabridged: Part


def read_data(
    keys: DataConfig,
    known: Known | None,
    train: TrainConfig,
    session: Session,
    *,
    recipe: str | None = None,
    goes_on: bool = False,
) -> TrainingData:
    """Read the data, with the codec and the labels that are known, and split them.

    The keys have paths on this machine. `goes_on`: whether a run does, which knows the data.

    Raises:
        DataError: the data are not there, cannot be read, or are too little.
        ConfigError: keys that do not fit the data.
    """
    ranks, notice = session.ranks, session.notice
    with ranks.turn(ranks.rank.local_number == 0):  # the others find what it left in the cache
        try:
            corpus = load_corpus(keys, session, known, readings=True)
        except DataError as error:
            unknown = error.__cause__
            if not goes_on:
                raise
            if isinstance(error, BadFileError) and isinstance(unknown, FileNotFoundError):
                place = "the run learns from it: data.path=PLACE says where it is now"
                raise BadFileError(error.file, error.reason, place) from unknown
            if not isinstance(unknown, UnknownSymbolError):
                raise
            raise DataError(
                f"{' and '.join(keys.path)} is not what the run learns from: it has the character "
                f"{unknown.character!r}, which is not in the run's vocabulary: a new run with "
                "init_from learns it"
            ) from error
    ranks.check_same({"the data's sha256": corpus.sha256})
    if not goes_on:
        require_cut(keys, corpus.name, len(corpus.files), len(corpus.whole.starts))
        if corpus.codec.kind == "audio":
            found = faults.sound_faults(corpus, keys, known=bool(known and known.codec))
        elif corpus.whole.is_constant:
            found = [faults.Fault(faults.CONSTANT)]
        else:
            facts = faults.text_facts(corpus.whole, corpus.codec)
            found = faults.content_faults(corpus.whole, corpus.codec, facts, keys)
        for fault in found[:_MOST_FAULTS]:
            notice(fault.line)
    training, validation, _ = corpus.split(keys.split)
    faults.require_enough(corpus, keys.split, train, recipe)
    if (labels := corpus.labels) is not None:
        told = f"labels (data.label): {labels.summary}"
        notice(labels.untold if training.labels is None else told)
        corpus = dataclasses.replace(corpus, labels=labels.found_in(training.labels))
    read = TrainingData(keys, corpus, training, validation, training)
    if corpus.codec.kind == "audio":
        return _of_sound(read, corpus.codec, train.jump_after, notice)
    if silence := keys.trim_silence:
        raise ConfigError(f"data.trim_silence={silence:g} is for sound, and this is text")
    return read


def _of_sound(
    data: TrainingData, codec: SoundCodec, jump_after: float, notice: Notice
) -> TrainingData:
    """The data with their parts of sound without silence, and all readings to learn from."""
    keys, corpus = data.keys, data.corpus
    kept = without_silence(data.training, codec, keys.trim_silence)
    judged = without_silence(data.validation, codec, keys.trim_silence)
    if isinstance(codec, Spectral):
        milliseconds, rate = 1000 * codec.layout.size / codec.sample_rate, codec.sample_rate
        frames = f"{rate / codec.hop:.0f} frames of {codec.phases} codes a second"
        notice(f"codec: windows of {milliseconds:.0f} ms, {frames}, {rate} Hz")
        if codec.gain < 1:
            quieter = f"{-20 * math.log10(codec.gain):.1f} dB quieter than the recording"
            notice(f"the recording is loud: sounds are {quieter}, or their peaks would be cut off")
    left_out = f"{(len(data.training) - len(kept)) / codec.symbol_rate:.1f}"
    if float(left_out):
        seconds = duration(len(kept) / codec.symbol_rate)
        notice(
            f"{seconds} of sound to learn from: {left_out} s of silence left out "
            "(data.trim_silence)"
        )
    parts = [kept]
    for row in corpus.readings:
        whole = dataclasses.replace(corpus.whole, symbols=row)
        part, *_ = dataclasses.replace(corpus, whole=whole).split(keys.split)
        parts.append(without_silence(part, codec, keys.trim_silence))
    training = parts[0].and_then(*parts[1:]) if corpus.readings else kept
    if jump_after and isinstance(codec, Spectral):
        training = paths(parts, codec, jump_after)
    return dataclasses.replace(data, training=training, validation=judged)


def recording_to_keep(data: TrainingData, session: Session) -> Recording | None:
    """What is kept of the corpus; None of sounds with labels, or where nothing can be compared.

    That is told, with the reason.
    """
    codec = data.corpus.codec
    if codec.kind != "audio" or data.corpus.labels is not None:
        return None  # a sound with one label need not be like all of them
    folders = Folders(disk.cache_dir(), lambda text: None, session.progress)
    sound = dataclasses.replace(data.keys, kind="audio", codec="auto")
    gain, rate = codec.gain if isinstance(codec, Spectral) else 1.0, codec.sample_rate
    try:
        heard = _heard(find(sound, None, session.catalogue, folders), rate)
        return Recording.of(heard * np.float32(gain), rate)
    except DataError as error:
        session.notice(str(error))
    except ValueError as error:
        session.notice(f"{data.corpus.name}: nothing to compare a sound with: {error}")
    return None


def _heard(source: Source, rate: int) -> Wave:
    """The first ten minutes of some files, (N,) at a sample rate in hertz, without silence.

    Raises DataError: a file cannot be read, or nothing is left.
    """
    config, left, waves = source.config, _MOST * rate, list[Wave]()
    for file in source.documents.values():
        kept, room = [np.zeros(0, np.float32)], left
        for block in SoundReader(file).resampled(rate, channel=config.channel):
            kept.append(block[:room, 0])
            room = max(room - len(block), 0)
            if not room:
                break
        wave = centred(np.concatenate(kept))
        if len(wave) >= SHORTEST * rate and np.abs(wave).max() >= SILENT:
            waves.append(wave)
            left = room
    if not waves:
        raise DataError(
            f"{source.located.name}: nothing to compare a sound with: it is silent, as the mean of "
            "channels in antiphase is"
        )
    starts = np.cumsum([0, *(len(wave) for wave in waves[:-1])])
    return wave_without_silence(np.concatenate(waves), starts, rate, config.trim_silence)
