"""What a sweep's command line stands for: combinations, and ranges to search."""

import pytest

from seqkit import compose
from seqkit.foundation.errors import ConfigError


@pytest.mark.parametrize(
    ("word", "domain"),
    [
        ("optimizer.lr=interval(1e-4,1e-2)", compose.Span(1e-4, 1e-2)),
        ("optimizer.lr=tag(log, interval(1e-4, 1e-2))", compose.Span(1e-4, 1e-2, log=True)),
        ("model.hidden_size=interval(64,256)", compose.Span(64, 256)),
        ("model.hidden_size=tag(log,int(interval(64,256)))", compose.Span(64, 256, log=True)),
        ("model.num_layers=range(1,4)", compose.Span(1, 3, 1)),
        ("model.hidden_size=range(256,0,step=-64)", compose.Span(64, 256, 64)),
        ("model.dropout=range(0,1,0.25)", compose.Span(0.0, 0.75, 0.25)),
        ("model.dropout=range(0.05,0.9,0.07)", compose.Span(0.05, 0.89, 0.07)),
        ("optimizer=choice(adamw,sgd)", compose.Choices(("adamw", "sgd"))),
        ("seed=1,2", compose.Choices(("1", "2"))),
    ],
)
def test_what_a_search_draws_from(word: str, domain: compose.Domain) -> None:
    found = compose.space(["train.max_steps=5", word, "run_dir=a,b"], [])
    assert found.words == ["train.max_steps=5", "run_dir=a,b"]
    assert found.domains == {word.partition("=")[0]: domain}


def test_the_ends_of_a_space_are_the_command_lines_that_have_to_be_valid() -> None:
    words = ["recipe=shakespeare", "model.dropout=interval(0,0.5)", "seed=1,2,3"]
    lines = compose.space(words, []).extremes
    assert len(lines) == 5
    assert ["model.dropout=0.5", "seed=1", "recipe=shakespeare"] in lines
    assert ["model.dropout=0.0", "seed=3", "recipe=shakespeare"] in lines


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("optimizer.lr=interval(1e-2,1e-4)", "give the smaller number first"),
        ("optimizer.lr=tag(log,interval(0,1))", "with log one above 0"),
        ("optimizer.lr=interval(a,b)", "cannot be read"),
        ("model.num_layers=range(3,3)", "there is no value in it"),
    ],
)
def test_a_range_without_values_is_refused(word: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        compose.space([word], [])


def test_a_shuffled_sweep_has_the_same_order_again() -> None:
    words = ["recipe=shakespeare", "seed=shuffle(range(0,20))"]
    assert compose.sweep(words, []) == compose.sweep(words, [])
    assert compose.sweep(words, []) != compose.sweep([words[0], "seed=range(0,20)"], [])
