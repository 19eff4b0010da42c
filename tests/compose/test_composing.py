"""Recipes and overrides: every real one composes, every wrong one is named."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqkit import compose, disk, plugins
from seqkit.compose import FREE_TEXT
from seqkit.config import Config, options
from seqkit.errors import ConfigError
from seqkit.plugins import Catalogue, Kind
from seqkit.recipe_files import recipes
from tests.conftest import Write, install

RECIPES = sorted(file.stem for file in disk.config_dir("recipes").glob("*.yaml"))


def composed(arguments: list[str], config_dirs: list[Path]) -> Config:
    return compose.compose(arguments, config_dirs).config


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_composes(recipe: str) -> None:
    assert composed([f"recipe={recipe}"], []).recipe == recipe
    assert recipes(Catalogue(), [])[recipe]


@pytest.mark.parametrize(
    "group", [path.parent.name + "=" + path.stem for path in disk.config_dir("conf").glob("*/*")]
)
def test_every_choice_of_a_group_composes(group: str) -> None:
    composed(["recipe=shakespeare", group], [])


@pytest.mark.parametrize(("given", "steps"), [("1e3", 1000), ("2E+2", 200), ("50", 50)])
def test_whole_numbers_may_be_written_as_powers_of_ten(given: str, steps: int) -> None:
    assert composed(["recipe=shakespeare", f"train.max_steps={given}"], []).train.max_steps == steps
    runs = compose.sweep(
        ["recipe=shakespeare", f"train.max_steps={given},7", "optimizer.lr=1e-3"], []
    )
    assert [run[1] for run in runs] == [f"train.max_steps={steps}", "train.max_steps=7"]
    assert composed(runs[0], []).optimizer.lr == 0.001


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("train.max_steps=abc", "train.max_steps=abc: give a whole number, such as 1000"),
        ("length=1.5", "length=1.5: give a whole number, such as 1000"),
        ("optimizer.lr=fast", "optimizer.lr=fast: give a number, such as 0.5 or 1e-3"),
        ("json=maybe", "json=maybe: give true or false"),
    ],
)
def test_a_value_of_another_type_is_refused_with_an_example(argument: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        composed(["recipe=shakespeare", argument], [])
    assert str(refused.value) == said


@pytest.mark.parametrize(("written", "paths"), [("a, b.txt", ["a, b.txt"]), ("[a, b]", ["a", "b"])])
def test_a_group_of_ones_own_may_hold_one_path(
    written: str, paths: list[str], tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine.yaml").write_text(f"path: {written}\n")
    assert composed(["recipe=shakespeare", "data=mine"], [tmp_path]).data.path == paths
    (tmp_path / "data" / "mine.yaml").write_bytes(b"path: caf\xe9\n")
    with pytest.raises(ConfigError, match=r"data/mine\.yaml: not UTF-8"):
        composed(["recipe=shakespeare", "data=mine"], [tmp_path])


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("modle.num_layers=2", "did you mean model.num_layers"),
        ("num_layers=2", "did you mean model.num_layers"),
        ("promt=x", "did you mean prompt"),
        ("train.max_step=2", "did you mean train.max_steps"),
        ("recipe=shakespear", "did you mean shakespeare"),
        ("model=gpt", "no model named gpt"),
        ("model=null", "no model named None"),
        ("recipe=null", "no recipe named None"),
        ("train.max_steps=abc", "train.max_steps=abc"),
        ("train.max_steps=1.5", "train.max_steps=1.5"),
        ("train.max_steps=0", "at least 1"),
        ("train.max_steps=null", "nothing else ends the training"),
        ("train.max_minutes=-1", "at least 0"),
        ("train.max_minutes=ten", "train.max_minutes=ten"),
        ("model.dropout=1.5", "at most 0.95"),
        ("model.input_dropout=0.1", "one-hot rows have no units to drop"),
        ("optimizer.lr=0", "above 0"),
        ("optimizer.lr=nan", "finite"),
        ("temperature=-1", "at least 0"),
        ("top_p=0", "above 0"),
        ("top_k=0", "at least 1"),
        ("data.kind=novel", "auto, text, bytes"),
        ("data.split=[0.5,0.1]", "three fractions"),
        ("data.split=0.5,0.1", "three fractions"),
        ("data.split=banana", "data.split=banana: give three fractions"),
        ("data.split=", "three fractions"),
        ("data.split=[a,b,c]", "give a number, such as 0.5"),
        ("data.split=[0.5,0.1,0.1]", "add up to 1"),
        ("data.split=[0,1,0]", "the first above 0"),
        ("model.num_layers=1,2", "model.num_layers=1,2: several values need --multirun\\Z"),
        ("train.max_minutes=0,3", "a decimal point: train.max_minutes=0.3"),
        ("temperature=1,25", "a decimal point: temperature=1.25"),
        ("+model.new=1", "without"),
        ("~model.cell", "key=value"),
        ("model.cell=[", "cannot be read"),
        ("quiet=perhaps", "quiet=perhaps"),
        ("checkpoint=", "is empty"),
        ("words", "not key=value"),
        ("data.quantiser=linear", "data.quantiser is called data.codec now"),
        ("plugins=", "give the names of modules"),
        ("plugins=no_such_module_here", "plugins=no_such_module_here: cannot be imported"),
        ("window=100000000000000000000", "at most"),
        ("prompt_file=a", "give one of"),
        ("runs=a\0b", "runs: it contains a NUL character"),
    ],
)
def test_what_is_wrong_is_said(argument: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace(".", r"\.").replace("+", r"\+")):
        composed(["recipe=shakespeare", "prompt=b", argument], [])


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
PROMPTS = ("prompt", "prompt_audio", "prompt_file")  # one at a time


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=25)
@given(
    st.fixed_dictionaries(
        dict.fromkeys({*FREE_TEXT} - {"data.path", "data.pattern", *PROMPTS}, TEXT)
    ),
    st.sampled_from(PROMPTS),
    TEXT,
)
def test_free_text_is_literal(values: dict[str, str], prompt: str, text: str) -> None:
    literal = {**values, prompt: text}
    words = [f"{key}={value}" for key, value in literal.items()]
    config = composed(["recipe=shakespeare", *words], [])
    assert {key: getattr(config, key) for key in literal} == literal


@pytest.mark.parametrize(
    "value",
    [
        "To be, or not",
        "it's",
        "a=b",
        "(aside)",
        "☃",
        "a\nb",
        "true",
        "1e3",
        " x ",
        "${x}",
        "[",
        '"',
    ],
)
def test_awkward_text_is_literal(value: str) -> None:
    arguments = ["recipe=shakespeare", f"prompt={value}", f"data.path={value}"]
    config = composed(arguments, [])
    assert (config.prompt, config.data.path) == (value, [value])
    (run,) = compose.sweep(arguments, [])
    again = composed(run, [])
    assert (again.prompt, again.data.path) == (value, [value])


def test_several_paths_are_kept_in_their_order() -> None:
    words = ["recipe=shakespeare", "data.path=a,b", "seed=1,2", "data.path= c=[d]\n"]
    assert composed([*words[:2], words[3]], []).data.path == ["a,b", " c=[d]\n"]
    runs = [composed(run, []) for run in compose.sweep(words, [])]  # each path has its own runs
    assert [(run.seed, run.data.path) for run in runs] == [
        (seed, [path]) for seed in (1, 2) for path in ("a,b", " c=[d]\n")
    ]


@pytest.mark.parametrize(
    ("written", "paths"), [("a, b", ["a, b"]), ("[a, 'b,c']", ["a", "b,c"]), ("''", [])]
)
def test_a_recipe_names_a_path_or_a_list(tmp_path: Path, written: str, paths: list[str]) -> None:
    (tmp_path / "mine.yaml").write_text(f"data:\n  path: {written}\n")
    assert composed(["recipe=mine"], [tmp_path]).data.path == paths
    assert composed(["recipe=mine", "data.path=c"], [tmp_path]).data.path == ["c"]


@pytest.mark.parametrize("value", ["0.8,0.1,0.1", "[0.8,0.1,0.1]", "0.8, 0.1, 0.1"])
def test_a_split_needs_no_brackets_and_is_no_sweep(value: str) -> None:
    words = ["recipe=shakespeare", f"data.split={value}"]
    assert composed(words, []).data.split == [0.8, 0.1, 0.1]
    (run,) = compose.sweep([*words, "seed=1"], [])
    assert composed(run, []).data.split == [0.8, 0.1, 0.1]


def test_splits_in_brackets_are_swept() -> None:
    runs = compose.sweep(["recipe=shakespeare", "data.split=[0.9,0.1,0],[0.8,0.2,0]"], [])
    assert [composed(run, []).data.split[0] for run in runs] == [0.9, 0.8]


def test_a_later_argument_wins() -> None:
    config = composed(["recipe=shakespeare", "seed=1", "seed=2", "prompt=a", "prompt=b"], [])
    assert (config.seed, config.prompt) == (2, "b")


def test_a_budget_of_time_lifts_a_recipes_steps_and_not_those_that_are_given(
    tmp_path: Path,
) -> None:
    text = "defaults:\n  - shakespeare\ntrain:\n  max_minutes: 3\n"
    (tmp_path / "hour.yaml").write_text(text)
    for words, steps in (
        (["recipe=shakespeare"], 6000),
        (["recipe=shakespeare", "train.max_minutes=10"], None),
        (["recipe=shakespeare", "train.max_minutes=10", "train.max_steps=70"], 70),
        (["recipe=hour"], None),
        (["recipe=hour", "train.max_steps=70"], 70),
        (["recipe=hour", "train.max_minutes=0"], 6000),
    ):
        assert composed(words, [tmp_path]).train.max_steps == steps, words


@pytest.mark.parametrize("place", ["", "recipe", "recipes"])
def test_own_recipes_come_first(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "with, comma = and space" / place
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("# A recipe of mine\nmodel:\n  hidden_size: 33\n")
    (folder / "shakespeare.yaml").write_text("# @package _global_\nmodel:\n  hidden_size: 44\n")
    root = tmp_path / "with, comma = and space"
    assert composed(["recipe=mine"], [root]).model.hidden_size == 33
    assert composed(["recipe=shakespeare"], [root]).model.hidden_size == 44
    assert recipes(Catalogue(), [root])["mine"] == "A recipe of mine"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("model:\n  hiden_size: 3\n", "did you mean model.hidden_size"),
        ("model:\n  hidden_size: wide\n", "model.hidden_size"),
        ("data:\n  quantiser: linear\n", "data.quantiser is called data.codec now"),
        ("plugins: [no_such_module_here]\n", "plugins=no_such_module_here: cannot be imported"),
        ("model: [", "line 1: not valid YAML"),
        ("seed: 1\nseed: 2\n", r"/mine\.yaml, line 2: not valid YAML: .*seed"),
        ("defaults: shakespeare", "must be a list"),
        ("a: &a [*a]", r"/mine\.yaml: an alias in it"),
        ("model:\n  hidden_size: 0\n", "model.hidden_size=0"),
    ],
)
def test_a_faulty_recipe_is_named(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "mine.yaml").write_text(content)
    with pytest.raises(ConfigError, match=said):
        composed(["recipe=mine"], [tmp_path])


def test_a_config_dir_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        composed(["recipe=shakespeare"], [tmp_path / "none"])


def test_conf_adds_nothing_to_the_defaults_of_the_schema() -> None:
    assert composed([], []) == Config()


def test_the_command_line_chooses_the_group_last() -> None:
    assert composed(["recipe=shakespeare"], []).data.kind == "text"
    assert composed(["recipe=shakespeare", "data=bytes"], []).data.kind == "bytes"


def test_a_config_of_ones_own_does_not_take_the_place_of_seqkits(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model:\n  hidden_size: 1\n")
    (tmp_path / "latin.yaml").write_bytes(b"# gr\xfcn\n")
    assert composed([], [tmp_path]) == Config()
    assert "latin" in recipes(Catalogue(), [tmp_path])
    with pytest.raises(ConfigError, match="not UTF-8"):
        composed(["recipe=latin"], [tmp_path])


def test_a_sweep_over_all_recipes() -> None:
    assert len(compose.sweep(["recipe=glob(*)"], [])) == len(RECIPES)


def test_a_sweep_is_every_combination() -> None:
    runs = compose.sweep(["recipe=shakespeare", "model.num_layers=1,2", "seed=range(0,3)"], [])
    assert len(runs) == 6
    configs = [composed(run, []) for run in runs]
    assert {(c.model.num_layers, c.seed) for c in configs} == {
        (layers, seed) for layers in (1, 2) for seed in (0, 1, 2)
    }


def test_every_key_has_a_meaning() -> None:
    assert all(item.metadata["help"] for _, item in options())
    assert isinstance(composed(["recipe=shakespeare"], []), Config)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("shakespeare", "defaults: [shakespeare]", "another name than the one that it starts from"),
        ("ring", "defaults: [mine]", "recipe=ring: its defaults lead back"),
        ("mine", "defaults: [ring]", "recipe=mine: its defaults lead back"),
    ],
)
def test_a_recipe_that_builds_on_itself_is_named(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text("defaults: [ring]")
    (tmp_path / "ring.yaml").write_text("defaults: [mine]")
    (tmp_path / f"{name}.yaml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        composed([f"recipe={name}"], [tmp_path])


def test_a_folder_is_no_recipe(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    assert "folder" not in recipes(Catalogue(), [tmp_path])


@pytest.fixture
def modules(write: Write, tmp_path: Path) -> Path:
    """Two modules with a recipe each, in a folder that is on the path; a folder for one's own."""
    for name in ("compose_one", "compose_two"):
        write(f"of_{name}/{name}.yaml", "# Of a module\nmodel:\n  hidden_size: 55\n")
        write(f"{name}.py", f"RECIPES = 'of_{name}'\n")
    return tmp_path


@pytest.mark.parametrize(
    "given",
    [
        ["plugins=compose_one,compose_two"],
        ["plugins=[compose_one, compose_two]"],
        ["plugins=compose_one", "plugins=compose_two", "plugins=compose_one"],
    ],
)
def test_modules_bring_their_recipes(modules: Path, given: list[str]) -> None:
    config = composed([*given, "recipe=compose_two"], [])
    assert (config.model.hidden_size, config.plugins) == (55, ["compose_one", "compose_two"])
    runs = compose.sweep([*given, "recipe=compose_one", "seed=1,2"], [])
    assert [composed(run, []).plugins for run in runs] == [config.plugins] * 2
    with pytest.raises(ConfigError, match="no recipe named compose_one"):
        composed(["recipe=compose_one"], [])


def test_a_recipe_of_ones_own_comes_before_a_modules_and_may_name_another(modules: Path) -> None:
    own = modules / "own"
    own.mkdir()
    (own / "compose_one.yaml").write_text("plugins: [compose_two]\nmodel:\n  hidden_size: 66\n")
    config = composed(["plugins=compose_one", "recipe=compose_one"], [own])
    assert (config.model.hidden_size, config.plugins) == (66, ["compose_one", "compose_two"])


def test_a_recipe_that_two_packages_have_is_refused_when_it_is_asked_for(
    modules: Path, write: Write
) -> None:
    for name in ("compose_one", "compose_two"):
        install(write, name, f"[seqkit.recipes]\nx = {name}_pkg\n")
        write(f"{name}_pkg/same.yaml", "# The same name\n")
    assert composed(["recipe=shakespeare"], []).recipe == "shakespeare"
    with pytest.raises(ConfigError, match=r"recipe same is in the package .* and in the package"):
        composed(["recipe=same"], [])
    own = modules / "own"
    own.mkdir()
    (own / "same.yaml").write_text("seed: 7\n")
    assert composed(["recipe=same"], [own]).seed == 7


def test_the_catalogue_comes_with_the_config_and_is_made_once(
    modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (modules / "mine.yaml").write_text("plugins: [compose_two]\n")
    asked: list[Kind] = []
    installed = plugins._installed

    def ask(kind: Kind) -> list[plugins.Entry]:
        asked.append(kind)
        return installed(kind)

    monkeypatch.setattr(plugins, "_installed", ask)
    config, catalogue = compose.compose(["plugins=compose_one", "recipe=mine"], [modules])
    assert catalogue.modules == tuple(config.plugins) == ("compose_one", "compose_two")
    assert {"compose_one", "compose_two"} <= set(catalogue.names("recipes"))
    assert len(asked) == len(set(asked))  # installed packages are looked through once
