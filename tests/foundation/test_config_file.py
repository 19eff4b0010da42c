"""A config is read as it was written; what is no config is refused in a line."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from seqkit.config import Config, DataConfig
from seqkit.foundation.config_file import from_values, network_from, to_yaml
from seqkit.foundation.errors import ConfigError, UnreadableError

FILE = "runs/a/config.yaml"
TEXT = st.text(
    st.characters(exclude_characters="\0\x85\u2028\u2029"), min_size=1
)  # surrogates, too


@pytest.mark.thorough
@given(TEXT, st.lists(TEXT), st.floats(1e-9, 1.0))
def test_what_is_written_is_read_to_the_letter(prompt: str, paths: list[str], rate: float) -> None:
    config = Config(recipe="x", prompt=prompt, data=DataConfig(path=paths))
    config.optimizer.lr = rate
    assert from_values(yaml.safe_load(to_yaml(config)), FILE) == config


@pytest.mark.parametrize(
    "text", ["${oc.env:HOME}", "${seed}", "!!python/object:os.system", "true", "1e3", "*x", "~"]
)
def test_text_means_nothing_else(text: str) -> None:
    config = Config(prompt=text, run_dir=text, data=DataConfig(path=[text]))
    assert from_values(yaml.safe_load(to_yaml(config)), FILE) == config


def test_a_network_has_known_keys() -> None:
    assert network_from({"hidden_size": 8}).hidden_size == 8
    others: list[object] = [{"conditions": 9}, {"hidden_size": -1}, [], None]
    for wrong in others:
        with pytest.raises(ConfigError, match="model"):
            network_from(wrong)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"sede: 1", "unknown key sede: did you mean seed?"),
        (b"k" * 300 + b": 1", "unknown key " + "k" * 60),
        (b"model: 5", "model: expected keys and values, got int"),
        (b"data: {path: {a: b}}", "data.path={'a': 'b'}: expected list"),
        (b'data: {path: ["a\\0b"]}', "data.path: it contains a NUL character"),
        (b"seed: -1", "seed=-1: give a value of at least 0"),
        (b"optimizer: {lr: .nan}", "optimizer.lr=nan: give a finite number"),
        (b"data: {split: [1, 1, 1]}", "add up to 1"),
        (b"data: {split: [1%s, 0, 0]}" % (b"0" * 400), "add up to 1"),
        (b"part: %s" % (b"p" * 999), "part=" + "p" * 80 + "…: choose one of"),
        (b"resume: perhaps", "choose one of never, auto, force"),
    ],
)  # fmt: skip
def test_what_is_no_config_is_named(content: bytes, said: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        from_values(yaml.safe_load(content), FILE)
    message = str(caught.value)
    assert message.startswith(FILE)
    assert said in message
    assert "\n" not in message
    assert len(message) < 300
