"""Files of sound as the world has them: every format is read, every fault is told."""

import codecs
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
import torchaudio

from seqkit.data.files import BadFileError
from seqkit.data.sound import Wave, reader
from seqkit.data.sound.reader import resampled
from seqkit.foundation.errors import ConfigError

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
        ("MP3", "MPEG_LAYER_III", 0.1),
    ],
)
def test_every_format_is_read(form: str, subtype: str, tolerance: float, tmp_path: Path) -> None:
    path = tmp_path / "sound.wav"  # the name says nothing
    wave = tone()
    soundfile.write(path, np.stack([wave, wave / 2], 1), RATE, subtype, format=form)
    recording = reader.SoundReader(path)
    assert (recording.sample_rate, recording.channels) == (RATE, 2)
    first = np.concatenate(list(recording.frames_of(channel="0")))[:, 0]
    assert first.size == wave.size
    np.testing.assert_allclose(first, wave, atol=tolerance)
    mixed, _ = reader.read_whole(path)
    np.testing.assert_allclose(mixed, 0.75 * wave, atol=tolerance)
    assert reader.is_sound(path)


def test_a_tagged_mp3_of_variable_rate_is_read_to_its_end(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, junk = tmp_path / "a.mp3", b"ID3\3\0\0\0\0\1\0" + bytes(128) + b"\xff\xfb" * 1000
    wave = loud_then_quiet()
    with soundfile.SoundFile(path, "w", RATE, 1, format="MP3", bitrate_mode="VARIABLE") as file:
        file.write(wave)
    data = path.read_bytes()
    once, _ = reader.read_whole(path)
    assert abs(once.size - wave.size) < 1152
    path.write_bytes(data + junk + data + junk)
    twice, _ = reader.read_whole(path)
    assert abs(twice.size - 2 * wave.size) < 3 * 1152
    assert reader.SoundReader(path).frames == twice.size
    assert capfd.readouterr().err == ""


def loud_then_quiet() -> Wave:
    """Whose frames in an MP3 of variable rate are not as long as the first."""
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, 3 * RATE)
    return np.concatenate([noise, tone(6, level=0.01)]).astype(np.float32)


def written(form: str, folder: Path) -> bytes:
    path = folder / "written"
    soundfile.write(path, loud_then_quiet(), RATE, format=form)
    return path.read_bytes()


def test_what_was_written_into_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    flac, aiff = written("FLAC", tmp_path), written("AIFF", tmp_path)
    no_frames = bytes([flac[21] & 0xF0, 0, 0, 0, 0])
    sound, frames = aiff.index(b"SSND") + 4, aiff.index(b"COMM") + 10
    contents = [flac[:21] + no_frames + flac[26:]]
    for size in (0, 0x7F000008, 0xFFFFFFFF):
        told = struct.pack(">I", size)
        piped = aiff[:4] + told + aiff[8:frames] + told + aiff[frames + 4 : sound] + told
        contents.append(piped + aiff[sound + 4 :])
    for content in contents:
        path = tmp_path / "a"
        path.write_bytes(content)
        wave, _ = reader.read_whole(path)
        np.testing.assert_allclose(wave, loud_then_quiet(), atol=1e-4)
        assert reader.SoundReader(path).frames == wave.size


def wav(data: bytes, promised: int, more: bytes = b"") -> bytes:
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + promised) + b"WAVE" + form + more + (
        b"data" + struct.pack("<I", promised) + data
    )  # fmt: skip


SOUND = (tone() * 32767).astype("<i2").tobytes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (wav(SOUND[:-100], len(SOUND)), "truncated: the header promises 8044 bytes, 7944 are"),
        (wav(SOUND, len(SOUND) + 65), "truncated: the header promises"),
        (wav(SOUND, len(SOUND)).replace(struct.pack("<I", RATE), b"\1\0\0\0"), "says 1 Hz"),
        (b"<!DOCTYPE html>\n<p>not found: " * 9, "it is text"),
        (codecs.BOM_UTF16_LE + "not found".encode("utf-16-le") * 9, "cannot be read as sound"),
    ],
)
def test_faults_are_named_in_our_words_alone(
    content: bytes, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    with pytest.raises(BadFileError, match=said) as caught:
        reader.read_whole(path)
    assert str(path) in str(caught.value)
    assert capfd.readouterr().err == ""


RATES = [(44100, 16000), (16000, 44100), (8000, 8000), (11025, 8000), (997, 1009)]


def noise(count: int, seed: int = 1) -> Wave:
    return np.random.default_rng(seed).uniform(-1, 1, count).astype(np.float32)


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_pieces_give_what_torchaudio_makes_of_the_whole(rate: int, new_rate: int) -> None:
    wave = noise(47_561)
    transform = torchaudio.transforms.Resample(
        rate, new_rate, lowpass_filter_width=16, rolloff=0.97
    )
    whole = transform(torch.from_numpy(wave)).numpy()
    cuts = np.sort(np.random.default_rng(2).integers(0, wave.size, 9))
    pieces = np.split(np.stack([wave, -wave], axis=1), cuts)
    new = np.concatenate([*resampled(pieces, rate, new_rate, channels=2)])
    assert len(new) == -(-wave.size * new_rate // rate)
    assert len(new) - whole.size in (0, 1)  # torchaudio rounds in 32 bits
    np.testing.assert_allclose(new[: whole.size, 0], whole, atol=1e-6)
    np.testing.assert_allclose(new[: whole.size, 1], -whole, atol=1e-6)


def test_odd_rates_are_rounded_to_a_ratio_within_a_thousandth() -> None:
    wave = np.sin(2 * np.pi * 1000 * np.arange(44107) / 44107).astype(np.float32)
    (new,) = np.concatenate([*resampled([wave[:, None]], 44107, 32003)]).T
    assert new.size == pytest.approx(32003, rel=1e-3)
    assert np.abs(np.fft.rfft(new[:30000])).argmax() == pytest.approx(1000 * 30000 / 32003, abs=2)


def test_without_torchaudio_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchaudio.transforms", None)
    assert len(np.concatenate([*resampled([noise(9)[:, None]], 8000, 8000)])) == 9
    with pytest.raises(ConfigError, match="8000 Hz cannot become 4000 Hz: torchaudio does not"):
        [*resampled([noise(9)[:, None]], 8000, 4000)]


def test_ffmpeg_is_recommended_only_where_it_can_read(tmp_path: Path) -> None:
    (tmp_path / "a.m4a").write_bytes(b"\0\0\0\x10ftypM4A isom\0\0\x10\0mdat" + SOUND[:4088])
    with pytest.raises(BadFileError, match="its index"):  # and so says ffmpeg of it
        reader.read_whole(tmp_path / "a.m4a")
