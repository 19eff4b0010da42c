"""Recordings as sounds are compared with: in samples, as they were before they were quantised."""

import dataclasses

import numpy as np

from seqkit.config import DataConfig
from seqkit.data.codec_choice import nothing_left
from seqkit.data.datasets import Folders
from seqkit.data.files import digest_of
from seqkit.data.load import find
from seqkit.data.sound import Wave
from seqkit.data.sound.part import wave_without_silence
from seqkit.data.sound.reader import SoundReader
from seqkit.data.sound_encoder import SHORTEST, SILENT
from seqkit.data.source import Source
from seqkit.foundation import disk
from seqkit.foundation.session import Session

_MOST = 600  # seconds


def source_of(data: DataConfig, session: Session) -> Source:
    """The files of sound that a config names. Raises as `load_corpus`."""
    folders = Folders(disk.cache_dir(), lambda text: None, session.progress)
    sound = dataclasses.replace(data, kind="audio", codec="auto")
    return find(sound, None, session.catalogue, folders)


def digest(source: Source) -> str:
    """The sha256 that a corpus of these files has. Raises BadFileError."""
    of_files = {name: digest_of(file, lambda size: None) for name, file in source.files.items()}
    return source.sha256_of(of_files)


def hear(source: Source, rate: int) -> Wave:
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
        raise nothing_left(source, dict.fromkeys(source.documents, "silent"))
    starts = np.cumsum([0, *(len(wave) for wave in waves[:-1])])
    return wave_without_silence(np.concatenate(waves), starts, rate, config.trim_silence)
