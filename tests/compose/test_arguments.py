"""Plain arguments mean without Hydra what they mean with it."""

import subprocess
import sys

import pytest

from seqkit.compose import arguments
from seqkit.compose.composing import composed_by_hydra
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError
from tests.conftest import environment

PLAIN = [
    "seed=1 length=20 temperature=0.5 top_k=3 quiet=true",
    "temperature=1 seconds=5 sample.engine=wasm sample.unknown=skip device=cpu",
    "temperature=-0.25 seed=-3 sample.novel=false seed=7 length=1e3",
    "model.hidden_size=12 model.cell=gru train.precision=bf16 top_p=0.900",
]
OTHERS = [
    "recipe=toy_sentence", "top_k=null", "temperature=1e-3", "seed=007", "temperature=.5",
    "data.split=0.9,0.1,0", "model.labels=[2,3]", "sample.engine=null", "quiet=True", "seed=1_000",
    "model=null", "temperature=inf",
]  # fmt: skip


@pytest.mark.parametrize("words", PLAIN)
def test_plain_words_are_read_as_hydra_reads_them(words: str) -> None:
    overrides, _ = arguments.separate(words.split())
    plain = arguments._plain(overrides)
    assert plain is not None
    assert repr(plain) == repr(composed_by_hydra(overrides, Catalogue([]), []))


@pytest.mark.parametrize("word", OTHERS)
def test_what_is_not_plain_is_left_to_hydra(word: str) -> None:
    overrides, _ = arguments.separate([word])
    assert arguments._plain(overrides) is None


@pytest.mark.parametrize("word", ["seed=two", "length=0.5", "sample.engine=warm"])
def test_a_wrong_value_is_refused_in_the_same_words(word: str) -> None:
    with pytest.raises(ConfigError) as refused:
        arguments.compose([word], [])
    with pytest.raises(ConfigError) as by_hydra:
        arguments.compose([word, "top_k=null"], [])
    assert str(refused.value) == str(by_hydra.value)


def test_hydra_is_not_imported_for_them() -> None:
    code = (
        "import sys; sys.modules['hydra'] = None; from seqkit import compose;"
        "compose.compose(['checkpoint=a b', 'prompt=x,y', 'seed=1'], [])"
    )
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)
