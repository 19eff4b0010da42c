"""The data of a training: read as the weights to start from want them, and cut into parts."""

import dataclasses
import math
from dataclasses import dataclass

from seqkit.advice.faults import CONSTANT, require_enough, sound_faults
from seqkit.config import DataConfig, TrainConfig
from seqkit.data.codecs import SoundCodec, Spectral
from seqkit.data.corpus import Corpus, Part
from seqkit.data.load import Known, load_corpus, require_cut
from seqkit.data.sound import jumps
from seqkit.data.sound.part import without_silence
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Notice, Session
from seqkit.foundation.wording import duration, first_of

_MOST_FAULTS = 2  # of the data, the worst, that a training tells; `doctor` tells all


@dataclass(frozen=True)
class TrainingData:
    """The data of a training as symbols, the parts of sound without silence.

    keys: those that they were read by, with paths on this machine.
    corpus: all of them, their labels counted in the training part.
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

    Args:
        keys: those of the data, with paths on this machine.
        known: what a checkpoint to start from decides.
        train: how windows are read from them.
        session: told what is wrong with them.
        recipe: the recipe's name, for messages.
        goes_on: whether a run does that knows them.

    Raises:
        DataError: the data are not there, cannot be read, or are too little.
        ConfigError: keys that do not fit the data.
    """
    ranks, notice = session.ranks, session.notice
    with ranks.turn(ranks.rank.local_number == 0):  # the others find what it left in the cache
        corpus = load_corpus(keys, session, known, readings=True)
    ranks.check_same({"the data's sha256": corpus.sha256})
    if not goes_on:
        require_cut(keys, corpus.name, len(corpus.files), len(corpus.whole.starts))
        _tell_faults(corpus, keys, notice)
    training, validation, _ = corpus.split(keys.split)
    require_enough(corpus, keys.split, train, recipe)
    corpus = _with_counts(corpus, training, notice)
    read = TrainingData(keys, corpus, training, validation, training)
    if corpus.codec.kind == "audio":
        return _of_sound(read, corpus.codec, train.jump_after, notice)
    if silence := keys.trim_silence:
        raise ConfigError(f"data.trim_silence={silence:g} is for sound, and this is text")
    return read


def _tell_faults(corpus: Corpus, data: DataConfig, notice: Notice) -> None:
    if corpus.codec.kind == "audio":
        for fault in sound_faults(corpus.whole, corpus.codec, data)[:_MOST_FAULTS]:
            notice(str(fault))
    elif corpus.whole.is_constant:
        notice(CONSTANT)


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
        training = jumps.paths(parts, codec, jump_after)
    return dataclasses.replace(data, training=training, validation=judged)
