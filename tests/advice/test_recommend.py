"""A recipe is named that fits, and the command line reads the data as they were examined."""

import shlex
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from seqkit.advice.recommend import advise, fitting_recipe
from seqkit.compose import compose
from seqkit.config import Config, DataConfig
from seqkit.data.datasets import Folders
from seqkit.data.load import load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.ranks import Session


def config_of(recipe: str) -> Config:
    return compose([f"recipe={recipe}"], [])


@pytest.mark.parametrize("key", ["data.kind=bytes", "data.max_vocabulary=20"])
def test_a_recipe_for_gpus_is_given_what_it_does_otherwise(key: str, text_file: Path) -> None:
    given = ["recipe=shakespeare", f"data.path={text_file}", "data.unknown=skip", key]
    config = compose(given, [])
    corpus = load_corpus(config.data, Session(Catalogue(), lambda text: None))
    found = advise(config, len(corpus.whole), corpus, torch.device("cuda"), config_of)
    assert found is not None
    words = shlex.split(found["command"])[3:]
    assert words[0] == f"recipe={found['recipe']}" != "recipe=shakespeare"
    assert compose(words, []).data == config.data


def test_a_recipe_is_named_that_fits(tmp_path: Path) -> None:
    text, sound = tmp_path / "song.txt", tmp_path / "clips"
    text.write_text("sing a song")
    sound.mkdir()
    soundfile.write(sound / "a.wav", np.zeros(900, np.float32), 4000)
    folders = Folders(tmp_path, lambda text: None)

    def fitting(path: Path) -> str:
        return fitting_recipe(DataConfig(path=[str(path)]), folders, Catalogue())

    assert (fitting(text), fitting(sound)) == ("shakespeare", "my_sound")
