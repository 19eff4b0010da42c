"""The recording that the sounds of a training are compared with."""

from seqkit.data.heard import hear, source_of
from seqkit.data.source import Source
from seqkit.evaluation.recording import Recording
from seqkit.foundation.errors import DataError
from seqkit.foundation.session import Session
from seqkit.stages.data import TrainingData


def recording_to_keep(data: TrainingData, session: Session) -> Recording | None:
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
