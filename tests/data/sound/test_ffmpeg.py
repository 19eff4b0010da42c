"""What phones, cameras and players make is read whole, or refused with a command that converts."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.files import BadFileError
from seqkit.data.sound import Wave, ffmpeg, reader

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg makes the files"),
]

RATE = 44100
FRAME = 2048  # of the longest of these codecs, each channel

BY_FFMPEG = {
    "aac.m4a": "-c:a aac",
    "begin_first.m4a": "-c:a aac -movflags +faststart",
    "fragments.mp4": "-c:a aac -movflags frag_keyframe+empty_moov",
    "alac.m4a": "-c:a alac",
    "named.m4a": "-c:a aac -metadata title=memo",
    "aac.mp4": "-c:a aac",
    "phone.3gp": "-c:a aac -ar 8000 -ac 1",
    "pcm.mov": "-c:a pcm_s16be",
    "ima.mov": "-c:a adpcm_ima_qt",
    "stream.aac": "-c:a aac",
    "tagged.aac": "-c:a aac -write_id3v2 1",
    "loas.latm": "-c:a aac -f latm",
    "opus.webm": "-c:a libopus",
    "vorbis.webm": "-c:a libvorbis",
    "flac.mka": "-c:a flac",
    "media.wma": "-c:a wmav2",
    "older.wma": "-c:a wmav1",
    "lossless.wv": "-c:a wavpack",
    "true.tta": "-c:a tta",
    "dolby.ac3": "-c:a ac3",
    "dolby.eac3": "-c:a eac3",
    "cinema.dts": "-c:a dca -strict -2",
    "film.avi": "-c:a mp3",
    "flash.flv": "-c:a mp3",
    "program.mpg": "-c:a mp2",
    "broadcast.ts": "-c:a aac",
    "real.rm": "-c:a real_144 -ar 8000 -ac 1",
    "alac.caf": "-c:a alac",
    "pcm.caf": "-c:a pcm_s16be",
    "flac.ogg": "-c:a flac",
    "speex.ogg": "-c:a libspeex -ar 8000 -ac 1",
    "vorbis.ogg": "-c:a libvorbis",
    "opus.opus": "-c:a libopus",
    "layer_2.mp2": "-c:a mp2",
    "layer_3.mp3": "-c:a libmp3lame",
    "layer_3.wav": "-c:a libmp3lame",
    "adpcm.wav": "-c:a adpcm_ima_wav",
    "g722.wav": "-c:a g722 -ar 16000 -ac 1",
    "wide.wav": "-c:a pcm_s64le",
    "sony.w64": "-c:a pcm_s16le",
    "sun.au": "-c:a pcm_s16be",
    "apple.aifc": "-c:a pcm_s24be",
    "free.flac": "-c:a flac",
}
BY_SOX = ["phone.amr-nb", "creative.voc", "amiga.8svx", "nist.sph", "sox.sox", "mac.hcom"]


def recording() -> Wave:
    time = np.arange(3 * RATE) / RATE
    left, right = (0.4 * np.sin(2 * np.pi * hertz * time) for hertz in (440, 660))
    return (np.stack([left, right], 1) * (0.2 + 0.8 * time[:, None] / 3)).astype(np.float32)


def make(folder: Path, *words: str, program: str = "ffmpeg -nostdin -v error -y -i") -> None:
    """A file, from the recording; the test is skipped where the program cannot make it."""
    soundfile.write(folder / "recording.wav", recording(), RATE)
    command = [*program.split(), "recording.wav", *words]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"not made here: {made.stderr.strip()[:200]}")


def frames_by_ffmpeg(file: Path, channels: int) -> Wave:
    """All samples (N, C) as a person would have ffmpeg write them."""
    words = ["-map", "0:a:0", "-f", "f32le", "-"]
    made = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "quiet", "-i", str(file), *words],
        capture_output=True,
        check=True,
    )
    return np.frombuffer(made.stdout, np.float32).reshape(-1, channels)


def whole(file: Path) -> Wave:
    return np.concatenate([*reader.SoundReader(file).all_channels()])


def fault_of(file: Path) -> str:
    with pytest.raises(BadFileError) as caught:
        whole(file)
    text = str(caught.value)
    assert text.startswith(str(file))
    assert "\n" not in text
    return text


def check_whole(file: Path) -> None:
    """All that ffmpeg finds is read, in blocks of any size, and whatever the file is called."""
    sound = reader.SoundReader(file)
    expected = frames_by_ffmpeg(file, sound.channels)
    frames = whole(file)
    assert abs(len(frames) - len(expected)) <= FRAME
    assert frames.std() == pytest.approx(expected.std(), rel=0.02)
    for most in (1000, 1 << 20):
        blocks = [*sound.all_channels(most)]
        assert max(map(len, blocks)) <= most
        assert np.array_equal(np.concatenate(blocks), frames)
    assert sound.frames == len(frames)
    in_memory = reader.SoundReader(Path("sent"), file.read_bytes())
    assert np.array_equal(np.concatenate([*in_memory.all_channels()]), frames)
    other = file.rename(file.with_name("it's so.txt"))
    assert np.array_equal(whole(other), frames)
    assert reader.is_sound(other)


@pytest.mark.parametrize("name", [*BY_FFMPEG, *BY_SOX])
def test_a_format_is_read_whole_or_a_command_converts_it(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    if name in BY_SOX:
        small = ["-r", "8000", "-c", "1", name] if "phone" in name else [name]
        make(tmp_path, *small, program="sox" if shutil.which("sox") else "false")
    else:
        make(tmp_path, *BY_FFMPEG[name].split(), name)
    try:
        reader.SoundReader(file)
    except BadFileError as error:
        command = str(error).partition("if it is sound, ")[2].removesuffix(" may convert it")
        subprocess.run(shlex.split(command), stdin=subprocess.DEVNULL, check=True)
        file = Path(f"{file}.wav")
        capfd.readouterr()
    check_whole(file)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.mp3", "-c:a libmp3lame -b:a 128k -write_xing 0"),
        ("a.mp3", "-c:a libmp3lame -q:a 5 -write_xing 0"),
        ("a.mp2", "-c:a mp2"),
        ("a.ogg", "-c:a libvorbis"),
        ("a.opus", "-c:a libopus"),
        ("a.aac", "-c:a aac"),
    ],
)
def test_joined_files_without_a_length_are_read_as_ffmpeg_reads_them(
    name: str, words: str, tmp_path: Path
) -> None:
    make(tmp_path, *words.split(), name)
    file = tmp_path / name
    for times in (1, 3):
        frames = whole(file)
        # Where an MP3 joins another one, ffmpeg loses a frame.
        assert abs(len(frames) - len(frames_by_ffmpeg(file, 2))) <= times * 1152
        assert len(frames) >= times * 3 * RATE
        file.write_bytes(file.read_bytes() * 3)


def test_layer_2_of_falling_rate_is_read_to_its_end(tmp_path: Path) -> None:
    for rate in ("192k", "64k"):
        make(tmp_path, "-b:a", rate, f"{rate}.mp2")
    file = tmp_path / "both"
    file.write_bytes((tmp_path / "192k.mp2").read_bytes() + (tmp_path / "64k.mp2").read_bytes())
    check_whole(file)


@pytest.mark.parametrize("name", ["a.aac", "a.webm", "a.wv", "a.wma", "a.ac3", "a.mp4"])
def test_what_ends_within_a_frame_is_refused(name: str, tmp_path: Path) -> None:
    extra = ["-movflags", "+faststart"] if name == "a.mp4" else []
    make(tmp_path, *extra, name)
    file = tmp_path / name
    data = file.read_bytes()
    for size in (len(data) // 2 - 7, len(data) * 9 // 10 - 7):
        file.write_bytes(data[:size])
        assert "truncated" in fault_of(file)


def test_the_first_track_of_a_film_is_read_and_one_without_is_named(tmp_path: Path) -> None:
    picture = ["-f", "lavfi", "-i", "testsrc=d=3:s=64x64", "-c:v", "mpeg4"]
    make(tmp_path, *picture, "film.mp4")
    make(tmp_path, *picture, "-map", "1:v", "silent.mp4")
    check_whole(tmp_path / "film.mp4")
    assert fault_of(tmp_path / "silent.mp4").endswith(": it holds no sound track")


def test_what_is_protected_is_told(tmp_path: Path) -> None:
    key = ["-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb"]
    kid = ["-encryption_kid", "a7e61c373e219033c21091fa607bf3b8"]
    make(tmp_path, "-encryption_scheme", "cenc-aes-ctr", *key, *kid, "a.mp4")
    assert "protected (DRM), says ffmpeg: " in fault_of(tmp_path / "a.mp4")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is looked in before all others for ffmpeg."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def put(programs: Path, script: str) -> Path:
    """An ffmpeg that does this; a file, with the number of each of its processes."""
    program, started = programs / "ffmpeg", programs / "started"
    program.write_text(f"#!/bin/sh\necho $$ >> {shlex.quote(str(started))}\n{script}\n")
    program.chmod(0o755)
    return started


@pytest.mark.parametrize(
    "content",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nother.wav\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile other.wav\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 5004 RTP/AVP 0\n",
        '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>other.wav</BaseURL></MPD>',
    ],
)
def test_a_playlist_is_text(content: str, tmp_path: Path, programs: Path) -> None:
    started = put(programs, "exit 1")
    for name in ("a.m4a", "a.mp4", "a.m3u8", "a.wav"):
        (tmp_path / name).write_text(content)
        assert "it is text" in fault_of(tmp_path / name)
        assert ("a playlist:" in fault_of(tmp_path / name)) == content.startswith("#EXTM3U")
        assert not ffmpeg.begins_as_sound(tmp_path / name)
    assert not started.exists()


def test_ffmpeg_opens_nothing_but_the_file(tmp_path: Path, programs: Path) -> None:
    make(tmp_path, "a.m4a")
    put(programs, 'echo "$@" >&2; exit 1')
    said = fault_of(tmp_path / "a.m4a")
    assert "-protocol_whitelist file -f mov -i file:/dev/stdin" in said


def test_without_ffmpeg_the_command_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a memo.m4a"
    make(tmp_path, file.name)
    with monkeypatch.context() as context:
        context.setenv("PATH", str(tmp_path))
        said = fault_of(file)
    assert "needs the program ffmpeg" in said
    command = said.partition("convert it elsewhere: ")[2]
    subprocess.run(shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert np.abs(whole(file) - whole(Path(f"{file}.wav"))).max() < 1e-3


def test_ffmpeg_that_hangs_or_is_killed_ends_the_reading(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, real = tmp_path / "a.m4a", shutil.which("ffmpeg")
    make(tmp_path, file.name)
    for script, said in (
        ("sleep 1000", "ffmpeg made nothing of it in 0.5 s"),
        ("yes nothing >&2", "ffmpeg made nothing of it in 0.5 s"),
        (f'{real} "$@" | head -c 5000; sleep 1000', "ffmpeg made nothing of it in 0.5 s"),
        (f'{real} "$@" | head -c 5000; kill -9 $$', "ffmpeg was killed by signal 9"),
        ("yes nothing | head -n 50000 >&2; exit 3", "says ffmpeg: nothing"),
    ):
        started = put(programs, script)
        with monkeypatch.context() as context:
            if "0.5 s" in said:  # the others end by themselves, on a busy machine later than that
                context.setattr(ffmpeg, "_PATIENCE", 0.5)
            assert said in fault_of(file)
    assert_ended(started)  # a busy machine may not have begun each; the last ones it has


def assert_ended(started: Path) -> None:
    for number in started.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(number), 0)


def test_ffmpeg_ends_when_no_more_is_read(tmp_path: Path, programs: Path) -> None:
    file, real = tmp_path / "a.m4a", shutil.which("ffmpeg")
    make(tmp_path, "-af", "aloop=-1:132300", "-t", "60", "-c:a", "alac", file.name)
    started = put(programs, f'exec {real} "$@"')
    wave, rate = reader.read_whole(file, 1.0)
    assert (len(wave), rate) == (RATE, RATE)
    assert_ended(started)


@pytest.mark.parametrize(
    "begin",
    [
        b"\0\0\0\x24ftypheic\0\0\0\0mif1heic",
        b"\0\0\0\x20ftypavif\0\0\0\0avif",
        b"\xff" * 9000,
        b"MAC OS is a system. ",
        b"caffeine, and more of it. ",
        b"GOD save the Queen, as they say. " * 40,
        b"",
    ],
)
def test_what_is_no_sound_does_not_begin_as_such(begin: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(begin + bytes(900) * (b"ftyp" in begin))
    assert not ffmpeg.begins_as_sound(file)
    assert not reader.is_sound(file)
    os.mkfifo(tmp_path / "pipe")
    assert not ffmpeg.begins_as_sound(tmp_path / "pipe")
