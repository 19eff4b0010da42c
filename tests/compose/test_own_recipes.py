"""Recipes of one's own, of modules and of packages: found in their order, faults named."""

from pathlib import Path

import pytest

from seqkit import compose
from seqkit.config import Config
from seqkit.foundation.catalogue import Catalogue, recipes
from seqkit.foundation.errors import ConfigError
from tests.compose.conftest import composed
from tests.conftest import Write, install


@pytest.mark.parametrize(
    ("written", "paths"), [("a, b", ["a, b"]), ("[a, 'b,c']", ["a", "b,c"]), ("''", [])]
)
def test_a_recipe_names_a_path_or_a_list(tmp_path: Path, written: str, paths: list[str]) -> None:
    (tmp_path / "mine.yaml").write_text(f"data:\n  path: {written}\n")
    assert composed(["recipe=mine"], [tmp_path]).data.path == paths
    assert composed(["recipe=mine", "data.path=c"], [tmp_path]).data.path == ["c"]


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
        (
            "model:\n  hidden_size: wide\n",
            "mine.: expected a whole number: key model.hidden_size\\Z",
        ),
        ("hydra:\n  verbose: true\n", "unknown key hydra"),
        ("plugins: [no_such_module_here]\n", "plugins=no_such_module_here: cannot be imported"),
        ("model: [", "line 1: not valid YAML"),
        ("seed: 1\nseed: 2\n", r"/mine\.yaml, line 2: not valid YAML: .*seed"),
        ("defaults: shakespeare", "must be a list"),
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


def test_a_config_of_ones_own_does_not_take_the_place_of_seqkits(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model:\n  hidden_size: 1\n")
    (tmp_path / "latin.yaml").write_bytes(b"# gr\xfcn\n")
    assert composed([], [tmp_path]) == Config()
    assert "latin" in recipes(Catalogue(), [tmp_path])
    with pytest.raises(ConfigError, match="not UTF-8"):
        composed(["recipe=latin"], [tmp_path])


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
