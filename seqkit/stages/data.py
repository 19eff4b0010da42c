"""The data of a training: found, read as the weights to start from want it, and cut into parts."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

from seqkit.advice import sound
from seqkit.advice.faults import CONSTANT, require_enough
from seqkit.config import Config, DataConfig
from seqkit.data import elsewhere, streams
from seqkit.data.codecs import SoundCodec, Spectral
from seqkit.data.corpus import Corpus, Part
from seqkit.data.load import Known, load_corpus, require_cut
from seqkit.data.sound import jumps
from seqkit.data.sound.part import without_silence
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Notice, Session
from seqkit.foundation.wording import duration, first_of
from seqkit.runs import named_checkpoint, resume
from seqkit.runs.checkpoint import Checkpoint
from seqkit.stages.claim import Claim
from seqkit.stages.grow import grown

_MOST_FAULTS = 2  # of the data, the worst, that a training tells; `doctor` tells all


@dataclass(frozen=True)
class TrainingData:
    """The data of a training as symbols, the parts of sound without silence.

    config: what is asked for, with what the data and the weights to start from decide.
    source: the keys that the corpus was read by, with paths on this machine.
    corpus: all of it, its labels counted in the training part.
    training, validation: its parts.
    unabridged: the training part, silence included.
    start: the checkpoint whose weights the training starts from, if any: the run's own, or another
        one, which is fine-tuned, grown by what is new in the data.
    """

    config: Config
    source: DataConfig
    corpus: Corpus
    training: Part
    validation: Part
    unabridged: Part
    start: Checkpoint | None = None


def read_data(claim: Claim, session: Session) -> TrainingData:
    """Read the data, with the codec and the labels of the weights to start from, and split it.

    Raises:
        DataError: the data are not there, cannot be read, or are too little.
        CheckpointError: the weights to start from are not there, or cannot be read.
        ConfigError: keys that do not fit the data, or the checkpoint.
    """
    saved, ranks, notice = claim.saved, session.ranks, session.notice
    with ranks.turn(ranks.rank.local_number == 0):  # the others find what it left in the cache
        config, source = _located(claim.config, session)
        other = None
        if saved is None and config.init_from is not None:
            other = named_checkpoint.read(
                config.init_from, session.catalogue, notice, session.progress
            )
            data = _as_read(config.data, other, notice)
            config = dataclasses.replace(config, data=data)
            source = dataclasses.replace(data, path=source.path)
        corpus = load_corpus(source, session, _known(config.data, saved, other), readings=True)
    ranks.check_same({"the data's sha256": corpus.sha256})
    if corpus.stand_in:  # with which the run goes on
        data = dataclasses.replace(config.data, path=[str(corpus.stand_in)])
        config = dataclasses.replace(config, data=data)
    if other is not None:
        other = grown(other, corpus, bool(config.model.ends), config.fixed_seed, notice)
    if saved is None:
        require_cut(config.data, corpus.name, len(corpus.files), len(corpus.whole.starts))
        _tell_faults(corpus, config.data, notice)
    training, validation, _ = corpus.split(config.data.split)
    require_enough(corpus, config.data.split, config.train, config.recipe)
    corpus = _with_counts(corpus, training, notice)
    parts = (training, validation, training)
    read = TrainingData(config, source, corpus, *parts, saved or other)
    if corpus.codec.kind == "audio":
        return _of_sound(read, corpus.codec, notice)
    if silence := config.data.trim_silence:
        raise ConfigError(f"data.trim_silence={silence:g} is for sound, and this is text")
    return read


def _located(config: Config, session: Session) -> tuple[Config, DataConfig]:
    """The config as a run keeps it, and the keys of its data with paths on this machine.

    Paths become absolute, and files of the cache take the place of streams. In the config URLs
    stay, so that a run goes on on a machine whose cache has no copy.
    """
    notice, progress, cache = session.notice, session.progress, disk.cache_dir()
    prompt = [] if config.prompt_file is None else [config.prompt_file]
    files = streams.read_streams([*config.data.path, *prompt], cache, notice, progress)
    config = dataclasses.replace(
        config,
        data=dataclasses.replace(config.data, path=files[: len(config.data.path)]),
        prompt_file=str(Path(files[-1]).absolute()) if prompt else None,
        prompt_audio=config.prompt_audio and str(Path(config.prompt_audio).absolute()),
    )
    config = resume.as_kept(config)
    return config, elsewhere.fetch(config.data, cache, notice, progress)


def _as_read(data: DataConfig, other: Checkpoint, notice: Notice) -> DataConfig:
    """The keys with which the data are read as those of the weights to start from were."""
    read = other.as_read(data)
    for key in ("newline", "document", "leave_out"):
        if getattr(data, key) != (asked := getattr(read, key)):
            notice(f"data.{key}={asked}, as in the training of the checkpoint")
    return read


def _known(data: DataConfig, saved: Checkpoint | None, other: Checkpoint | None) -> Known:
    """What a checkpoint to start from decides on how the data are read."""
    start = saved or other
    if start is None:
        return Known()
    # New characters get symbols, if there is a limit up to that; or else data.unknown counts.
    grows = data.unknown == "error" or data.max_vocabulary > 0
    config = other.settings.data if other else None  # a resumed run's were compared before
    return Known(start.codec, start.labels, config, grow=saved is None and grows, samples=not saved)


def _tell_faults(corpus: Corpus, data: DataConfig, notice: Notice) -> None:
    if corpus.codec.kind == "audio":
        for fault in sound.faults_of(corpus.whole, corpus.codec, data)[:_MOST_FAULTS]:
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


def _of_sound(data: TrainingData, codec: SoundCodec, notice: Notice) -> TrainingData:
    """The data with their parts of sound without silence, and all readings to learn from."""
    keys, corpus = data.config.data, data.corpus
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
    if data.config.train.jump_after and isinstance(codec, Spectral):
        training = jumps.paths(parts, codec, data.config.train.jump_after)
    return dataclasses.replace(data, training=training, validation=judged)
