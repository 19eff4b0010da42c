"""Recordings that sounds are compared with: in samples, as they were before they were encoded."""

import dataclasses

import numpy as np

from seqkit.config import DataConfig
from seqkit.data.codecs import SoundCodec, Spectral
from seqkit.data.datasets import Folders, Source
from seqkit.data.files import digest_of
from seqkit.data.load import find
from seqkit.data.sound import Wave
from seqkit.data.sound.part import wave_without_silence
from seqkit.data.sound.reader import SoundReader
from seqkit.data.sound_encoder import SHORTEST, SILENT
from seqkit.evaluation.recording import Recording
from seqkit.foundation import disk
from seqkit.foundation.errors import DataError
from seqkit.foundation.session import Session
from seqkit.stages.data import TrainingData

_MOST = 600  # seconds


def recording_to_keep(data: TrainingData, session: Session) -> Recording | None:
    """What is kept of the corpus; None of sounds with labels, or where nothing can be compared.

    That is told, with the reason.
    """
    corpus = data.corpus
    if corpus.codec.kind != "audio" or corpus.labels is not None:
        return None  # a sound with one label need not be like all of them
    try:
        return recording_of(source_of(data.keys, session), corpus.codec, corpus.codec.sample_rate)
    except DataError as error:
        session.notice(str(error))
        return None


def recording_of(source: Source, codec: SoundCodec, rate: int) -> Recording:
    """What sounds of a codec are compared with, at a rate in hertz.

    Raises DataError: too short, or silent.
    """
    gain = codec.gain if isinstance(codec, Spectral) else 1.0
    try:
        return Recording.of(_heard(source, rate) * np.float32(gain), rate)
    except ValueError as error:
        name = source.located.name
        raise DataError(f"{name}: nothing to compare a sound with: {error}") from error


def source_of(data: DataConfig, session: Session) -> Source:
    """The files of sound that a config names. Raises as `load_corpus`."""
    folders = Folders(disk.cache_dir(), lambda text: None, session.progress)
    sound = dataclasses.replace(data, kind="audio", codec="auto")
    return find(sound, None, session.catalogue, folders)


def digest(source: Source) -> str:
    """The sha256 that a corpus of these files has. Raises BadFileError."""
    of_files = {name: digest_of(file, lambda size: None) for name, file in source.files.items()}
    return source.sha256_of(of_files)


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
        wave = np.concatenate(kept)
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
