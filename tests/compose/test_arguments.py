"""Recipes and overrides: every real one composes, every wrong one is named."""

import re
from pathlib import Path

import pytest

from seqkit import compose
from seqkit.compose import with_given
from seqkit.compose.recipes import described
from seqkit.config import Config
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError
from tests.compose.conftest import composed

RECIPES = sorted(file.stem for file in disk.config_dir("recipes").glob("*.yaml"))


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_composes(recipe: str) -> None:
    assert composed([f"recipe={recipe}"], []).recipe == recipe
    assert described([])[recipe]


@pytest.mark.parametrize(("given", "steps"), [("1e3", 1000), ("2E+2", 200), ("50", 50)])
def test_whole_numbers_may_be_written_as_powers_of_ten(given: str, steps: int) -> None:
    assert composed(["recipe=shakespeare", f"train.max_steps={given}"], []).train.max_steps == steps
    runs, _ = compose.sweep(
        ["recipe=shakespeare", f"train.max_steps={given},7", "optimizer.lr=1e-3"]
    )
    assert [composed(run, []).train.max_steps for run in runs] == [steps, 7]
    assert composed(runs[0], []).optimizer.lr == 0.001


def test_a_key_replaces_what_a_recipe_has_of_its_kin() -> None:
    config = composed(["recipe=my_sound", "length=3"], [])
    assert (config.length, config.seconds) == (3, None)
    with pytest.raises(ConfigError, match="give length or seconds, not both"):
        composed(["recipe=my_sound", "length=3", "seconds=3"], [])


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("train.max_steps=abc", "train.max_steps=abc: expected a whole number"),
        (
            "train.max_steps=1e10",
            "train.max_steps=10000000000: give a value of at least 1 and at most 2147483647",
        ),
        ("length=1e99", "length=9999999999999999"),
        ("json=maybe", "json=maybe: expected true or false"),
        ("temperature=warm", "temperature=warm: expected a number"),
        ("modle.num_layers=2", "did you mean model.num_layers"),
        ("steps=2", "did you mean train.max_steps"),
        ("count=20", "unknown key count. --help"),  # out, until and account are no guesses
        ("recipe=shakespear", "did you mean shakespeare"),
        ("recipe=null", "no recipe named null"),
        ("train.max_steps=0", "at least 1"),
        ("train.max_steps=null", "nothing else ends the training"),
        ("model.dropout=1.5", "at most 0.95"),
        ("model.input_dropout=0.1", "one-hot rows have no units to drop"),
        ("optimizer.lr=nan", "finite"),
        (
            "train.input_noise=1",
            "train.input_noise=1.0: give a value of at least 0 and at most 0.95",
        ),
        ("train.jump_after=0.05", "train.jump_after=0.05: in so short a passage nothing is heard"),
        ("data.split=[0.5,0.1]", "three fractions"),
        ("data.split=[a,b,c]", "data.split=[a,b,c]: expected a number"),
        ("data.split=[0.5,0.1,0.1]", "add up to 1"),
        ("model.num_layers=1,2", "give one value; training takes several with --multirun"),
        ("+model.new=1", "unknown key"),
        ("~model.cell", "key=value"),
        ("model.cell=[", "choose one of"),
        ("checkpoint=", "is empty"),
        ("=3", "=3: give the name of a key before ="),
        ("words", "not key=value"),
        ("plugins=no_such_module_here", "plugins=no_such_module_here: cannot be imported"),
        ("prompt_file=a", "give one of"),
    ],
)
def test_what_is_wrong_is_said(argument: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)) as refused:
        composed(["recipe=shakespeare", "prompt=b", argument], [])
    assert "\n" not in str(refused.value)


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize(
    "value",
    ["To be, or not", "it's", "(a=b)", "☃", "a\nb", "true", "1e3", " x ", "${x}", "[", '"'],
)
def test_awkward_text_is_literal(value: str) -> None:
    keys = ("prompt", "data.path", "data.pattern")
    arguments = ["recipe=shakespeare", *(f"{key}={value}" for key in keys)]
    config = composed(arguments, [])
    assert (config.prompt, config.data.path, config.data.pattern) == (value, [value], value)
    ((run,), _) = compose.sweep(arguments)
    again = composed(run, [])
    assert (again.prompt, again.data.path, again.data.pattern) == (value, [value], value)


@pytest.mark.parametrize("value", ["0.8,0.1,0.1", "[0.8,0.1,0.1]", "0.8, 0.1, 0.1"])
def test_a_split_needs_no_brackets_and_is_no_sweep(value: str) -> None:
    words = ["recipe=shakespeare", f"data.split={value}"]
    assert composed(words, []).data.split == [0.8, 0.1, 0.1]
    ((run,), _) = compose.sweep([*words, "seed=1"])
    assert composed(run, []).data.split == [0.8, 0.1, 0.1]


def test_a_budget_of_time_lifts_a_recipes_steps_and_not_those_that_are_given(
    tmp_path: Path,
) -> None:
    text = "defaults:\n  - shakespeare\ntrain:\n  max_minutes: 3\n"
    (tmp_path / "hour.yaml").write_text(text)
    (tmp_path / "both.yaml").write_text(text + "  max_steps: 500\n")
    (tmp_path / "from_both.yaml").write_text("defaults:\n  - both\n")
    (tmp_path / "from_hour.yaml").write_text("defaults:\n  - hour\ntrain:\n  max_steps: 40\n")
    for words, steps in (
        (["recipe=shakespeare"], 6000),
        (["recipe=shakespeare", "train.max_minutes=10"], None),
        (["recipe=shakespeare", "train.max_minutes=10", "train.max_steps=70"], 70),
        (["recipe=hour"], None),
        (["recipe=hour", "train.max_steps=70"], 70),
        (["recipe=hour", "train.max_minutes=0"], 6000),
        (["recipe=both"], 500),
        (["recipe=both", "train.max_minutes=10"], None),
        (["recipe=from_both"], 500),
        (["recipe=from_hour"], 40),
    ):
        assert composed(words, [tmp_path]).train.max_steps == steps, words


def test_a_run_that_goes_on_by_the_clock_keeps_the_steps_that_limit_it() -> None:
    def goes_on(own: list[str]) -> int | None:
        words = ["run_dir=a", "resume=auto", "train.max_minutes=20"]
        asked, before = composed(words, []), composed(["recipe=shakespeare", *own], [])
        return with_given(before, asked).train.max_steps

    assert goes_on(["train.max_steps=5000", "train.max_minutes=10"]) == 5000
    assert goes_on(["train.max_minutes=10"]) is None
    assert goes_on([]) is None  # its recipe's steps


def test_without_a_recipe_all_keys_have_their_defaults() -> None:
    assert composed([], []) == Config()


def test_every_combination_is_a_run_and_so_is_each_path() -> None:
    words = ["recipe=shakespeare", "model.num_layers=1,2", "data.split=[1,0,0],[0.8,0.2,0]"]
    lines, own = compose.sweep([*words, "launcher=local", "data.path=a,b.txt", "data.path=c"])
    assert (len(lines), own) == (8, ["launcher=local"])
    assert len(compose.sweep([*words, "model.num_layers=3"])[0]) == 2  # the last one counts
    assert [*words[:1], "model.num_layers=2", "data.split=[1,0,0]", "data.path=a,b.txt"] in lines
    assert [*words[:1], "model.num_layers=1", "data.split=[0.8,0.2,0]", "data.path=c"] in lines
    with pytest.raises(ConfigError, match="comma without a value"):
        compose.sweep(["seed=1,,2"])
