"""The command line that is recommended reads the data as they were examined."""

import math
import shlex
from pathlib import Path

import pytest
import torch

from seqkit.compose import compose
from seqkit.config import Config
from seqkit.data.load import load_corpus
from seqkit.doctor.advice import advise
from seqkit.doctor.examine import Examined
from seqkit.foundation.plugins import Catalogue


def config_of(recipe: str) -> Config:
    return compose([f"recipe={recipe}"], []).config


@pytest.mark.parametrize("key", ["data.kind=bytes", "data.max_vocabulary=20", "data.newline=lf"])
def test_a_recipe_for_gpus_is_given_what_it_does_otherwise(key: str, text_file: Path) -> None:
    given = ["recipe=shakespeare", f"data.path={text_file}", "data.unknown=skip", key]
    config = compose(given, []).config
    corpus = load_corpus(config.data, catalogue=Catalogue(), notice=lambda text: None)
    examined = Examined({}, [], corpus.whole, 1.0, constant=False)
    found = advise(config, examined, corpus, torch.device("cuda"), config_of)
    assert found is not None
    assert found["steps"] == config_of(found["recipe"]).train.max_steps
    assert found["measured_on"] == "an H200"
    assert found["seconds"] < 120
    low, high = found["expected_between"]
    assert 0 < low < found["expected_loss"] < high <= math.log(corpus.codec.size)
    words = shlex.split(found["command"])[3:]
    assert words[0] == f"recipe={found['recipe']}" != "recipe=shakespeare"
    assert compose(words, []).config.data == config.data
