"""The recipe that fits some data."""

from pathlib import Path

import numpy as np
import soundfile

from seqkit.config import DataConfig
from seqkit.doctor.fitting_recipe import suggested_recipe


def test_a_recipe_is_named_that_fits(tmp_path: Path) -> None:
    text, sound = tmp_path / "song.txt", tmp_path / "clips"
    text.write_text("sing a song")
    sound.mkdir()
    soundfile.write(sound / "a.wav", np.zeros(900, np.float32), 4000)
    for paths, recipe in (([text], "shakespeare"), ([sound], "my_sound"), ([], "NAME")):
        data = DataConfig(path=[*map(str, paths)])
        assert suggested_recipe(data) == f"recipe={recipe}"
    hour = sound / "hour.wav"
    soundfile.write(hour, np.zeros(1200 * 1000, np.float32), 1000, "PCM_U8")
    for paths in ([hour], [sound]):
        data = DataConfig(path=[*map(str, paths)])
        assert suggested_recipe(data) == "recipe=wav_generation"
    assert suggested_recipe(DataConfig(path=["-"])) == "recipe=NAME"
    assert suggested_recipe(DataConfig(path=["nowhere"])) == "recipe=NAME"
