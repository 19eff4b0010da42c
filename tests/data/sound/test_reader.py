"""Files of sound as the world has them: every format is read, every fault is told."""

import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.files import BadFileError
from seqkit.data.sound import Wave, reader, writer

pytestmark = pytest.mark.faults

RATE = 8000


def tone(seconds: float = 0.5, hertz: float = 440, level: float = 0.5) -> Wave:
    time = np.arange(round(seconds * RATE)) / RATE
    return (level * np.sin(2 * np.pi * hertz * time)).astype(np.float32)


@pytest.mark.parametrize(
    ("form", "subtype", "tolerance"),
    [
        *[("WAV", subtype, 0.02) for subtype in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32")],
        *[("WAV", subtype, 0.05) for subtype in ("FLOAT", "DOUBLE", "ULAW", "ALAW")],
        *[(form, "PCM_16", 1e-4) for form in ("WAVEX", "RF64", "FLAC", "AIFF")],
        *[("OGG", "VORBIS", 0.1), ("MP3", "MPEG_LAYER_III", 0.1)],
    ],
)
def test_every_format_is_read(form: str, subtype: str, tolerance: float, tmp_path: Path) -> None:
    path = tmp_path / "sound.wav"  # the name says nothing
    wave = tone()
    soundfile.write(path, np.stack([wave, wave / 2], 1), RATE, subtype, format=form)
    opened = reader.Reader(path)
    assert (opened.sample_rate, opened.channels) == (RATE, 2)
    first = np.concatenate(list(opened.frames_of(channel="0")))[:, 0]
    assert first.size == wave.size
    np.testing.assert_allclose(first, wave, atol=tolerance)
    mixed, _ = reader.read_whole(path)
    np.testing.assert_allclose(mixed, 0.75 * wave, atol=tolerance)
    assert reader.is_sound(path)


def wav(data: bytes, promised: int, more: bytes = b"") -> bytes:
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + promised) + b"WAVE" + form + more + (
        b"data" + struct.pack("<I", promised) + data
    )  # fmt: skip


SOUND = (tone() * 32767).astype("<i2").tobytes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (wav(SOUND[:-100], len(SOUND)), "truncated: the header promises 8000 bytes"),
        (wav(SOUND, 0), "it holds no samples"),
        (wav(SOUND, len(SOUND))[:30], "No 'data' chunk"),
        (b"a text that is called sound", "cannot be read as sound"),
        (b"", "cannot be read as sound"),
    ],
)
def test_faults_are_named(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    with pytest.raises(BadFileError, match=said) as caught:
        reader.read_whole(path)
    assert str(path) in str(caught.value)


def test_a_truncated_flac_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, np.random.default_rng(1).uniform(-1, 1, 50_000), RATE)
    path.write_bytes(path.read_bytes()[:-9_000])
    with pytest.raises(BadFileError, match=r"truncated|damaged"):
        reader.read_whole(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_sample_that_is_no_number_is_named_by_its_place(value: float, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    wave = np.zeros(100_000, np.float32)
    wave[70_123] = value
    soundfile.write(path, wave, RATE, "FLOAT")
    with pytest.raises(BadFileError, match="sample 70123 is not finite"):
        reader.read_whole(path)


def test_a_wav_of_open_length_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(writer.header(RATE) + SOUND)
    wave, rate = reader.read_whole(path)
    np.testing.assert_allclose(wave, tone(), atol=1e-4)
    assert rate == RATE
    path.write_bytes(
        wav(SOUND, len(SOUND), b"LIST\x03\x00\x00\x00abc\x00") + b"more\x00\x00\x00\x00"
    )
    assert reader.read_whole(path)[0].size == tone().size
