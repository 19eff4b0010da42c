"""Labels of samples: asked for, drawn, and further from what is said without."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import Characters
from seqkit.data.labels import Labels
from seqkit.foundation.errors import ConfigError
from seqkit.generation.generate import Trained, generate
from seqkit.generation.labelled import choose
from seqkit.generation.sampler import Request, Sampling, guided
from seqkit.model.char_rnn import CharRNN

VOICES = Labels({"digit": ["0", "7"], "speaker": ["ann", "bob"]}, [(1, 1), (2, 1), (1, 2)])
AUTHORS = Labels({"label": ["a", "b"]}, [(1,), (2,)])
CODEC = Characters("xyz", 0)


def rows(labels: Labels, asked: str | None, streams: int = 1) -> list[list[float]]:
    choice = choose(labels, asked, streams, 0)
    assert choice.weights is not None
    found: list[list[float]] = choice.weights[choice.streams].tolist()
    return found


def test_values_name_their_rows() -> None:
    assert rows(VOICES, "digit:7,speaker:ann") == [[0, 0, 1, 0, 1, 0]]
    assert rows(VOICES, "7,bob") == [[0, 0, 1, 0, 0, 1]]
    assert rows(AUTHORS, "a") == [[0, 1, 0]]
    assert rows(AUTHORS, "none") == [[1, 0, 0]]
    assert rows(VOICES, "digit:none,speaker:ann") == [[1, 0, 0, 0, 1, 0]]
    assert set(choose(VOICES, "speaker:none", 200, 3).words) == {"digit:0", "digit:7"}
    assert rows(Labels({"label": ["none", "a"]}), "label:none") == [[0, 1, 0]]
    named = Labels({"label": ["Austen, Jane", "E: a"], "b": ["x"]})
    assert rows(Labels({"label": named.values["label"]}), "Austen, Jane") == [[0, 1, 0]]
    assert rows(named, "label:E: a, b:x") == [[0, 0, 1, 0, 1]]
    for asked in ("b:x,b:none", "b:none,b:x"):
        with pytest.raises(ConfigError, match="give one b"):
            rows(named, asked)
    twice = Labels({"digit": ["1"], "take": ["1"]})
    assert rows(twice, "digit:1,take:1") == [[0, 1, 0, 1]]
    with pytest.raises(ConfigError, match="give digit:1 or take:1"):
        rows(twice, "1")


def test_what_is_not_asked_for_is_drawn_as_the_data_combines_it() -> None:
    found = Counter(choose(VOICES, None, 2000, 3).words)
    shares = {words: count / 2000 for words, count in found.items()}
    wanted = dict.fromkeys(map(VOICES.describe, VOICES.combinations), 1 / 3)
    assert shares == pytest.approx(wanted, abs=0.04)
    with_bob = set(choose(VOICES, "speaker:bob", 200, 3).words)
    assert with_bob == {VOICES.describe((1, 2))}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("cara", r"no label cara\. It knows digit: 0, 7; speaker: ann, bob"),
        ("speaker:anne", "did you mean ann"),
        ("digit:0,digit:7", "give one digit"),
    ],
)
def test_what_is_not_there_is_refused(asked: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        choose(VOICES, asked, 1, 0)


@pytest.fixture
def model() -> CharRNN:
    config = ModelConfig(
        num_layers=2, hidden_size=12, input="embedding", vocabulary_size=3, labels=[2]
    )
    return CharRNN(config, torch.Generator().manual_seed(4))


def text(model: CharRNN, notice: Callable[[str], None] = print, **asked: object) -> np.ndarray:
    request = Request(length=60, sampling=Sampling(seed=2), **asked)  # type: ignore[arg-type]
    prompt = np.array([1, 2], np.uint8)
    trained = Trained(model, CODEC, labels=AUTHORS)
    return np.concatenate([*generate(trained, prompt, request, notice)])


@pytest.mark.parametrize("engine", ["torch", "wasm"])
def test_a_stream_says_the_same_beside_other_labels(model: CharRNN, engine: str) -> None:
    heard: list[str] = []
    drawn = text(model, heard.append, streams=6, engine=engine)
    assert heard[0].startswith("stream 1: ") and heard[0].count("; ") == 5
    told = choose(AUTHORS, None, 6, 2).words
    for name in "ab":
        alone = text(model, streams=6, engine=engine, label=name)
        own = [stream for stream, words in enumerate(told) if words == name]
        assert np.array_equal(drawn[:, own], alone[:, own])
    assert not np.array_equal(text(model, label="a"), text(model, label="b"))


def test_strength_goes_on_from_what_is_said_without(model: CharRNN) -> None:
    assert np.array_equal(
        text(model, label="a", label_strength=0.0), text(model, label="none", engine="torch")
    )
    near = text(model, label="a", label_strength=1 + 1e-9, engine="torch")
    assert np.array_equal(near, text(model, label="a", engine="torch"))
    both = np.array([[2.0, -1.0, 0.5], [1.0, 1.0, 0.0]], np.float32)
    np.testing.assert_allclose(guided(both, 2.0), [[3.0, -3.0, 1.0]])


def test_a_model_without_labels_takes_none(model: CharRNN) -> None:
    request = Request(length=3, label="a")
    with pytest.raises(ConfigError, match=r"learnt no labels: train one with data\.label"):
        generate(Trained(model, CODEC), np.zeros(0, np.uint8), request, print)
