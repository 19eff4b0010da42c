"""Sound as a medium: lengths, recordings, files and what they can take."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.codecs import MuLaw
from seqkit.foundation.errors import ConfigError
from seqkit.generation.medium import medium_of
from seqkit.generation.request import Prompt
from seqkit.generation.sound import Sound

RATE = 2000
CODEC = MuLaw(64, RATE)
SOUND = medium_of(CODEC)


def test_prompts_are_recordings(tmp_path: Path) -> None:
    told: list[str] = []
    wave = 0.5 * np.sin(np.arange(400) / 5).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", wave, RATE)
    assert SOUND.read_prompt(Prompt(), told.append).size == 0
    symbols = SOUND.read_prompt(Prompt(audio=str(tmp_path / "a.wav")), told.append)
    np.testing.assert_allclose(CODEC.decode(symbols), wave, atol=0.05)
    for text in (Prompt("a"), Prompt(file=str(tmp_path / "a.wav"))):
        with pytest.raises(ConfigError, match="prompt_audio"):
            SOUND.read_prompt(text, told.append)
    assert not told
    soundfile.write(tmp_path / "loud.wav", 3 * wave, RATE, "FLOAT")
    loud = SOUND.read_prompt(Prompt(audio=str(tmp_path / "loud.wav")), told.append)
    assert np.abs(CODEC.decode(loud)).max() <= 1
    clipped = np.count_nonzero(np.abs(3 * wave) > 1)
    assert told == [
        f"prompt_audio={tmp_path / 'loud.wav'}: clipped {clipped} samples over 1; "
        "the largest is 1.5"
    ]
    SOUND.encode("prompt", 3 * wave, "error", told.append)
    assert told[1].startswith("prompt: clipped")


@pytest.mark.parametrize(
    "content",
    [
        *(np.zeros(3, np.int16), np.zeros((3, 1), np.float32), "text", np.array([0.0, np.nan])),
    ],
)
def test_what_is_no_wave_is_refused(content: object) -> None:
    with pytest.raises(ConfigError, match=r"x: expected a wave \(N,\) of finite floats, got "):
        SOUND.encode("x", content)


def test_blocks_sound_like_the_whole(tmp_path: Path) -> None:
    symbols = np.random.default_rng(2).integers(0, 64, 3000)
    with SOUND.open(tmp_path / "a.wav", False) as write:
        for block in np.split(symbols, [1, 9, 1000]):
            write(block)
            frames = soundfile.info(tmp_path / "a.wav").frames
    assert frames == 3000
    streamed = SOUND.header + b"".join(Sound(CODEC).rendered(np.split(symbols, [500])))
    (tmp_path / "b.wav").write_bytes(streamed)
    first, second = (soundfile.read(tmp_path / name)[0] for name in ("a.wav", "b.wav"))
    assert np.array_equal(first, second[:3000])


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".ogg", ".mp3", ".aiff", ".aif"])
def test_files_of_every_kind_hold_the_sound(suffix: str, tmp_path: Path) -> None:
    codec = MuLaw(256, 16000)
    wave = 0.5 * np.sin(2 * np.pi * np.arange(48000) / 80).astype(np.float32)
    symbols = codec.encode(wave)
    medium = medium_of(codec)
    file = tmp_path / f"a{suffix}"
    medium.check_files([file])
    with medium.open(file, overwrite=False) as write:
        for piece in np.array_split(symbols, 7):
            write(piece)
    made, rate = soundfile.read(file, dtype="float32")
    assert (rate, len(made)) == (16000, 48000)
    again = codec.decode(symbols)
    assert np.corrcoef(made[2000:-2000], again[2000:-2000])[0, 1] > 0.99
