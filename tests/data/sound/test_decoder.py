"""What phones, cameras and browsers make is read to its end, or refused in a line."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames, reader
from seqkit.data.sound.decoder import Decoder
from tests.encoded import encode

pytestmark = pytest.mark.faults

FILES = {
    "memo.m4a": "aac",
    "lossless.m4a": "alac",
    "film.mp4": "aac",
    "camera.mov": "pcm_s16be",
    "message.aac": "aac",
    "browser.webm": "libopus",
    "message.opus": "libopus",
    "old.3gp": "amr_nb",
    "voice.amr": "amr_nb",
    "media.wma": "wmav2",
    "song.mp3": "mp3",
    "radio.mp2": "mp2",
    "lossless.caf": "alac",
    "lossless.wv": "wavpack",
    "song.ogg": "vorbis",
    "layer_3.wav": "mp3",
    "meeting.wav": "g722",
}
RATES = {"libopus": 48000, "amr_nb": 8000, "g722": 16000}


def recording(rate: int, channels: int) -> Frames:
    time = np.arange(3 * rate) / rate
    tones = [0.4 * np.sin(2 * np.pi * hertz * time) for hertz in (440, 660)[:channels]]
    return (np.stack(tones, 1) * (0.2 + 0.8 * time[:, None] / 3)).astype(np.float32)


def made(path: Path, codec: str = "", **options: str) -> Path:
    codec = codec or FILES[path.name]
    rate = RATES.get(codec, 44100)
    frames = recording(rate, 2 if rate > 16000 else 1)
    if codec == "vorbis":
        soundfile.write(path, frames, rate)
        return path
    return encode(path, frames, rate, codec, options=options)


def whole(file: Path) -> Frames:
    return np.concatenate([*reader.SoundReader(file).all_channels()])


def fault_of(file: Path) -> str:
    with pytest.raises(BadFileError) as caught:
        whole(file)
    text = str(caught.value)
    assert text.startswith(str(file))
    assert "\n" not in text
    return text


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_read_to_its_end_whatever_the_file_is_called(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = made(tmp_path / name).rename(tmp_path / "it's so")
    assert reader.is_sound(file)
    sound, codec = reader.SoundReader(file), FILES[name]
    rate = RATES.get(codec, 44100)
    expected = recording(rate, 2 if rate > 16000 else 1)
    assert (sound.sample_rate, sound.channels) == (rate, expected.shape[1])
    frames = whole(file)
    assert abs(len(frames) - len(expected)) <= 0.1 * rate  # codecs add what their frames lack
    assert frames.std() == pytest.approx(expected.std(), rel=0.3 if codec == "amr_nb" else 0.1)
    for most in (1000, 1 << 20):
        blocks = [*sound.all_channels(most)]
        assert max(map(len, blocks)) <= most
        assert np.array_equal(np.concatenate(blocks), frames)
    in_memory = reader.SoundReader(Path("sent"), file.read_bytes())
    assert np.array_equal(np.concatenate([*in_memory.all_channels()]), frames)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "name", ["song.mp3", "radio.mp2", "message.opus", "message.aac", "song.ogg"]
)
def test_joined_files_are_read_to_the_end_of_the_last(name: str, tmp_path: Path) -> None:
    file = made(tmp_path / name)
    once = whole(file)
    file.write_bytes(file.read_bytes() * 3)
    frames = whole(file)
    assert abs(len(frames) - 3 * len(once)) < 4 * 1152  # at a joint MP3s lose a frame
    last = frames[-len(once) :]
    assert last.std() == pytest.approx(once.std(), rel=0.05)


@pytest.mark.parametrize("name", ["memo.m4a", "message.aac", "lossless.wv", "media.wma"])
def test_what_ends_too_early_is_refused(name: str, tmp_path: Path) -> None:
    file = made(tmp_path / name, movflags="+faststart")
    data = file.read_bytes()
    for size in (len(data) // 2 - 7, len(data) * 9 // 10 - 7):
        file.write_bytes(data[:size])
        assert "truncated" in fault_of(file) or ", or damaged" in fault_of(file)


@pytest.mark.parametrize(
    "content",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nother.wav\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile other.wav\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 5004 RTP/AVP 0\n",
        '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>other.wav</BaseURL></MPD>',
    ],
)
def test_a_playlist_is_text_and_opens_nothing(content: str, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "other.wav", recording(8000, 1), 8000)
    for name in ("a.m4a", "a.m3u8"):
        (tmp_path / name).write_text(content)
        assert "it is text" in fault_of(tmp_path / name)
        assert ("a playlist:" in fault_of(tmp_path / name)) == content.startswith("#EXTM3U")
    with pytest.raises(BadFileError, match="cannot be read as sound"):
        Decoder(tmp_path / "a.m4a", io.BytesIO(content.encode()))


@pytest.mark.parametrize(
    "content",
    [
        b"\0\0\0\x24ftypheic\0\0\0\0mif1heic" + bytes(900),
        b"\xff" * 9000,
        b"MAC OS is a system. ",
        b"The big WAVE of the sea",
        b"GOD save the Queen, as they say. " * 40,
        np.random.default_rng(3).bytes(100_000),
        b"",
    ],
)
def test_what_is_no_sound_is_not_taken_for_it(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    assert not reader.is_sound(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    assert not reader.is_sound(tmp_path / "pipe")


def test_a_film_without_sound_is_named(tmp_path: Path) -> None:
    import av

    with av.open(str(tmp_path / "film.mp4"), "w") as film:
        track = film.add_stream("mpeg4", rate=24)
        track.width = track.height = 64
        track.pix_fmt = "yuv420p"
        picture = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")
        for frame in (picture, None):
            film.mux(track.encode(frame))
    assert fault_of(tmp_path / "film.mp4").endswith(": it holds no sound track")
