"""Recordings as sounds are compared with: in samples, as they were before they were quantised."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from seqkit.config import DataConfig
from seqkit.data.codec_choice import nothing_left
from seqkit.data.datasets import Folders
from seqkit.data.encoding import sha256_of
from seqkit.data.files import digest_of
from seqkit.data.load import find
from seqkit.data.sound import Wave
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.reader import SoundReader
from seqkit.data.sound.silence import wave_without_silence
from seqkit.data.sound_encoder import SHORTEST, SILENT
from seqkit.data.source import Source
from seqkit.foundation import disk
from seqkit.foundation.session import Session
from seqkit.symbols import Integers

MOST = 600
"""Seconds of sound that are heard."""
_STRETCHES = 20  # that these are taken from, if there is more


@dataclass(frozen=True)
class Heard:
    """Sound (N,) of one channel, the mean of all; `starts` (D,) says where documents begin."""

    wave: Wave
    starts: Integers
    sample_rate: int

    @classmethod
    def of(cls, waves: list[Wave], sample_rate: int) -> "Heard":
        """Of documents (n,), at least one."""
        ends = np.cumsum([len(wave) for wave in waves])
        return cls(np.concatenate(waves), np.append(0, ends[:-1]), sample_rate)

    def without_silence(self, decibels: float) -> Wave:
        """The wave, as `data.trim_silence` asks for."""
        if not decibels:
            return self.wave
        return wave_without_silence(self.wave, self.starts, self.sample_rate, decibels)


def source_of(data: DataConfig, session: Session) -> Source:
    """The files of sound that a config names. Raises as `load_corpus`."""
    folders = Folders(disk.cache_dir(), lambda text: None, session.progress)
    sound = dataclasses.replace(data, kind="audio", codec="auto")
    return find(sound, None, session.catalogue, folders)


def digest(source: Source) -> str:
    """The sha256 that a corpus of these files has. Raises BadFileError."""
    of_files = {name: digest_of(file, lambda size: None) for name, file in source.files.items()}
    return sha256_of(source, of_files)


def hear(source: Source, rate: int) -> Heard:
    """Files at a sample rate in hertz, without those that are silent or shorter than 20 ms.

    Raises DataError: a file cannot be read, or nothing is left.
    """
    bad, seconds, place, waves = dict[str, str](), 0.0, 0, list[Wave]()
    for name, file in source.documents.items():
        with source.left_out(name, bad):
            recording = SoundReader(file)
            seconds += recording.frames / recording.sample_rate
    stretch, period = (rate * most / _STRETCHES for most in (MOST, max(seconds, MOST)))
    for name, file in source.documents.items():
        with source.left_out(name, bad):
            kept = [np.zeros(0, np.float32)]
            for block in SoundReader(file).resampled(rate, channel=source.config.channel):
                if place % period < stretch:
                    kept.append(block[:, 0])
                place += len(block)
            wave = np.concatenate(kept)
            if len(wave) >= SHORTEST * rate and np.abs(wave).max() >= SILENT:
                waves.append(wave)
    if not waves:
        raise nothing_left(source, dict.fromkeys(source.files, "silent") | bad)
    return Heard.of(waves, rate)


def hear_symbols(sound: SoundPart) -> Heard:
    """Stretches of long sound, as its symbols have it."""
    rate = sound.codec.sample_rate
    begins = np.linspace(0, len(sound) - MOST * rate // _STRETCHES, _STRETCHES).astype(int)
    stretches = [sound[begin : begin + MOST * rate // _STRETCHES] for begin in begins.tolist()]
    return Heard.of(stretches, rate)
