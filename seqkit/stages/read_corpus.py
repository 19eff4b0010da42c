"""The data of a training, read as its config and the weights that it starts from want it."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from seqkit.advice import sound
from seqkit.advice.faults import CONSTANT
from seqkit.config import Config, DataConfig
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus
from seqkit.data.load import Known, load_corpus, require_cut
from seqkit.data.sound.part import SoundPart
from seqkit.foundation.session import Notice, Session
from seqkit.foundation.wording import duration
from seqkit.runs.checkpoint import Checkpoint
from seqkit.stages.grow import grown
from seqkit.stages.sources import Origin, Sources

_MOST_FAULTS = 2  # of the data, the worst, that a training tells; `doctor` tells all
_PATIENCE_OF_A_SAMPLE = 2  # validations: the recipe is for a text many times as long
_UNEVEN = 0.5  # of the share for validation; what differs by more is told


@dataclass(frozen=True)
class Reading:
    """The data of a training as symbols.

    config: with what the data and the weights decide.
    origin: the weights to start from, grown by what is new in the data.
    source: the keys that the corpus was read by, with paths on this machine.
    """

    config: Config
    corpus: Corpus
    origin: Origin
    source: DataConfig


def read_corpus(sources: Sources, session: Session) -> Reading:
    """Read the data, with the codec and the labels of the weights to start from, if there are any.

    Raises:
        DataError: the data cannot be read.
        ConfigError: keys that do not fit the checkpoint.
    """
    config, origin, notice = sources.config, sources.origin, session.notice
    saved, other = origin.saved, origin.other
    if other is not None:
        config = dataclasses.replace(config, data=_as_read(config.data, other, notice))
    # New characters get symbols, if there is a limit up to that; or else data.unknown counts.
    grows = config.data.unknown == "error" or config.data.max_vocabulary > 0
    start = origin.checkpoint
    known = Known(
        codec=start.codec if start else None,
        labels=start.labels if start else None,
        config=other.config if other else None,  # a resumed run's were compared before
        grow=saved is None and grows,
        samples=saved is None,
    )
    source = dataclasses.replace(config.data, path=sources.paths)
    corpus = load_corpus(source, session, known)
    if saved is not None and saved.data.get("stands_in"):
        corpus = dataclasses.replace(corpus, stand_in=Path(config.data.path[0]))
    if saved is None:
        require_cut(config.data, corpus.name, len(corpus.files), len(corpus.whole.starts))
    if corpus.stand_in:
        config = _with_sample(config, corpus.stand_in, notice if saved is None else None)
    if other is not None:
        other = grown(other, corpus, bool(config.model.ends), config.fixed_seed, notice)
        origin = Origin(other, resumes=False)
    if saved is None:
        _tell_faults(corpus, config.data, notice)
    return Reading(config, corpus, origin, source)


def _as_read(data: DataConfig, other: Checkpoint, notice: Notice) -> DataConfig:
    """The keys with which the data are read as those of the weights to start from were."""
    read = other.as_read(data)
    for key in ("newline", "document", "leave_out"):
        if getattr(data, key) != (asked := getattr(read, key)):
            notice(f"data.{key}={asked}, as in the training of the checkpoint")
    if other.codec.kind == "text" and 0 < data.max_vocabulary < other.codec.size:
        notice(f"all {other.codec.size} characters that the checkpoint knows are kept")
    return read


def _with_sample(config: Config, sample: Path, notice: Notice | None) -> Config:
    """The config of a run on the sample of a data set, with which it goes on."""
    data = dataclasses.replace(config.data, path=[str(sample)])
    config = dataclasses.replace(config, data=data)
    if config.train.patience:
        return config
    if notice:
        notice(
            f"the sample is small: the training ends after {_PATIENCE_OF_A_SAMPLE} validations in "
            f"a row without improvement (train.patience={_PATIENCE_OF_A_SAMPLE})"
        )
    train = dataclasses.replace(config.train, patience=_PATIENCE_OF_A_SAMPLE)
    return dataclasses.replace(config, train=train)


def _tell_faults(corpus: Corpus, data: DataConfig, notice: Notice) -> None:
    whole, codec = corpus.whole, corpus.codec
    if isinstance(codec, Quantiser):
        for fault in sound.faults_of(SoundPart(whole, codec))[:_MOST_FAULTS]:
            notice(str(fault))
    elif whole.is_constant:
        notice(CONSTANT)
    if uneven := uneven_split(corpus, data):
        notice(uneven)


def uneven_split(corpus: Corpus, data: DataConfig) -> str:
    """What is told where whole files of sound make another validation part than was asked for."""
    codec, asked = corpus.codec, data.split[1]
    own_parts = corpus.validation_start is not None or corpus.test_start is not None
    if not isinstance(codec, Quantiser) or not corpus.whole_documents or own_parts or not asked:
        return ""
    validation, whole = corpus.split(data.split)[1], corpus.whole
    kept = len(validation) / len(whole)
    if abs(kept - asked) <= asked * _UNEVEN:
        return ""
    rate = codec.symbol_rate
    return (
        f"{duration(len(validation) / rate)} of {duration(len(whole) / rate)} of sound are kept "
        f"for validation ({100 * kept:.1f} %, data.split asks for {100 * asked:g} %), since whole "
        "files are: cut them into shorter ones, or give another data.split (1,0,0: none is kept)"
    )
