"""Text as a medium: prompts, files and what is shown of them."""

from pathlib import Path

import pytest

from seqkit.data.codecs import Bytes, Characters
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.generation.medium import Text, medium_of, save_sample
from seqkit.generation.request import Prompt
from seqkit.symbols import Symbols

CODEC = Characters("\nabcdeé", 0)
TEXT = medium_of(CODEC)


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
    both = "'z'.*nor any of 'y☃': sample.unknown=skip leaves .*, sample.unknown=nearest replaces"
    with pytest.raises(ConfigError, match=both):
        read(Prompt("azbzy☃y"))
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
    assert "'z'" in told[0] and "left out" in told[0]
    assert "replaced by the nearest one" in told[1]


def test_a_sample_is_saved_and_shown(tmp_path: Path) -> None:
    symbols = CODEC.encode("\nabé\n\nc\n")
    file = save_sample(TEXT, symbols, tmp_path / "step_0.5")
    assert file == tmp_path / "step_0.5.txt"
    assert file.read_text() == "\nabé\n\nc\n"
    assert TEXT.preview(symbols, file) == "abé\n\nc"


def test_text_is_not_written_under_a_name_of_sound() -> None:
    TEXT.check_files([Path("a.txt"), Path("wav")])
    with pytest.raises(ConfigError, match=r"a\.WAV: this model writes text, no sound: give a\.txt"):
        TEXT.check_files([Path("a.WAV")])
