"""Text and sound as media: lengths, prompts, files and what is shown of them."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.codecs import Bytes, Characters, MuLaw
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.generation.medium import Sound, Text, medium_of, save_sample
from seqkit.generation.sampler import Prompt
from seqkit.symbols import Symbols

CODEC = Characters("\nabcdeé", 0)
TEXT = medium_of(CODEC)
RATE = 2000
MU_LAW = MuLaw(64, RATE)
SOUND = medium_of(MU_LAW)


def test_the_length_is_asked_for_in_symbols() -> None:
    assert isinstance(TEXT, Text)
    assert (TEXT.length(None, None), TEXT.length(7, None)) == (500, 7)
    with pytest.raises(ConfigError, match="give length"):
        TEXT.length(None, 2.0)


def test_prompts(tmp_path: Path) -> None:
    told: list[str] = []

    def read(prompt: Prompt) -> Symbols:
        return TEXT.read_prompt(prompt, told.append)

    file = tmp_path / "prompt.txt"
    file.write_bytes("aé\n".encode())
    assert read(Prompt()).size == 0
    assert CODEC.decode(read(Prompt("ba"))) == "ba"
    assert CODEC.decode(read(Prompt(file=str(file)))) == "aé\n"
    assert (
        Bytes().decode(medium_of(Bytes()).read_prompt(Prompt(file=str(file)), told.append))
        == file.read_bytes()
    )
    assert CODEC.decode(read(Prompt("azb", unknown="skip"))) == "ab"
    with pytest.raises(ConfigError, match=r"the model never saw it: sample\.unknown=skip"):
        read(Prompt("azbz"))
    with pytest.raises(ConfigError, match="writes text"):
        read(Prompt(audio=str(file)))
    with pytest.raises(DataError, match="cannot be read"):
        read(Prompt(file=str(tmp_path)))
    file.write_bytes(b"a\xff")
    with pytest.raises(DataError, match=r"byte 1 is not utf-8.*as UTF-8"):
        read(Prompt(file=str(file)))
    assert CODEC.decode(TEXT.encode("prompt", "ä", "nearest", told.append)) == "a"
    assert "'z'" in told[0] and "prompt is read as 'ab'" in told[0]
    assert "prompt is read as 'a'" in told[1]


def test_a_sample_is_saved_and_shown(tmp_path: Path) -> None:
    symbols = CODEC.encode("\nabé\n\nc\n")
    file = save_sample(TEXT, symbols, tmp_path / "step_0.5")
    assert file == tmp_path / "step_0.5.txt"
    assert file.read_text() == "\nabé\n\nc\n"
    assert TEXT.preview(symbols, file) == "abé\n\nc"


def test_text_is_not_written_under_a_name_of_sound() -> None:
    assert TEXT.refusal(Path("a.txt")) is None and TEXT.refusal(Path("wav")) is None
    assert TEXT.refusal(Path("a.WAV")) == "this model writes text, no sound: give a.txt"


def test_prompts_are_recordings(tmp_path: Path) -> None:
    told: list[str] = []
    wave = 0.5 * np.sin(np.arange(400) / 5).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", wave, RATE)
    assert SOUND.read_prompt(Prompt(), told.append).size == 0
    symbols = SOUND.read_prompt(Prompt(audio=str(tmp_path / "a.wav")), told.append)
    np.testing.assert_allclose(MU_LAW.decode(symbols), wave, atol=0.05)
    for text in (Prompt("a"), Prompt(file=str(tmp_path / "a.wav"))):
        with pytest.raises(ConfigError, match="prompt_audio"):
            SOUND.read_prompt(text, told.append)
    soundfile.write(tmp_path / "loud.wav", 3 * wave, RATE, "FLOAT")
    loud = SOUND.read_prompt(Prompt(audio=str(tmp_path / "loud.wav")), told.append)
    assert np.abs(MU_LAW.decode(loud)).max() <= 1
    assert not told
    soundfile.write(tmp_path / "side.wav", np.stack([0 * wave, wave], 1), RATE)
    side = SOUND.read_prompt(Prompt(audio=str(tmp_path / "side.wav"), channel="1"), told.append)
    np.testing.assert_array_equal(side, symbols)


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
    streamed = SOUND.header() + b"".join(Sound(MU_LAW).rendered(np.split(symbols, [500])))
    (tmp_path / "b.wav").write_bytes(streamed)
    first, second = (soundfile.read(tmp_path / name)[0] for name in ("a.wav", "b.wav"))
    assert np.array_equal(first, second[:3000])


def test_a_file_holds_the_sound(tmp_path: Path) -> None:
    codec = MuLaw(256, 16000)
    wave = 0.5 * np.sin(2 * np.pi * np.arange(48000) / 80).astype(np.float32)
    symbols = codec.encode(wave)
    medium, file = medium_of(codec), tmp_path / "a.wav"
    assert medium.refusal(file) is None
    said = medium.refusal(file.with_suffix(".mp3"))
    assert said and said.startswith("sound is written as .wav: `ffmpeg -i")
    assert medium.refusal(file.with_suffix(".txt")) == "sound is written as .wav"
    with medium.open(file, overwrite=False) as write:
        for piece in np.array_split(symbols, 7):
            write(piece)
    made, rate = soundfile.read(file, dtype="float32")
    assert (rate, len(made)) == (16000, 48000)
    again = codec.decode(symbols)
    assert np.corrcoef(made[2000:-2000], again[2000:-2000])[0, 1] > 0.99
