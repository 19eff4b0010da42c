"""Recipes of one's own: found in their order, faults named."""

from pathlib import Path

import pytest

from seqkit.compose.recipes import described
from seqkit.config import Config
from seqkit.foundation.errors import ConfigError
from tests.compose.conftest import composed


@pytest.mark.parametrize(
    ("written", "paths"), [("a, b", ["a, b"]), ("[a, 'b,c']", ["a", "b,c"]), ("''", [])]
)
def test_a_recipe_names_a_path_or_a_list(tmp_path: Path, written: str, paths: list[str]) -> None:
    (tmp_path / "mine.yaml").write_text(f"data:\n  path: {written}\n")
    assert composed(["recipe=mine"], [tmp_path]).data.path == paths
    assert composed(["recipe=mine", "data.path=c"], [tmp_path]).data.path == ["c"]


@pytest.mark.parametrize("place", ["", "recipe", "recipes"])
def test_own_recipes_come_first(tmp_path: Path, place: str) -> None:
    root = tmp_path / "with, comma = and space"
    folder = root / place
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("# A recipe of mine\nmodel:\n  hidden_size: 33\n")
    (folder / "shakespeare.yaml").write_text("# @package _global_\nmodel:\n  hidden_size: 44\n")
    assert composed(["recipe=mine"], [root]).model.hidden_size == 33
    assert composed(["recipe=shakespeare"], [root]).model.hidden_size == 44
    assert described([root])["mine"] == "A recipe of mine"


def test_a_recipe_starts_from_another_and_is_overridden_by_keys(tmp_path: Path) -> None:
    text = "defaults: [shakespeare]\nmodel: {hidden_size: 33}\noptimizer: {weight_decay: 0.3}\n"
    (tmp_path / "mine.yaml").write_text(text)
    config = composed(["recipe=mine", "model.num_layers=3", "optimizer.lr=1e-3"], [tmp_path])
    assert (config.model.hidden_size, config.model.num_layers, config.model.dropout) == (33, 3, 0.1)
    assert (config.optimizer.weight_decay, config.optimizer.lr) == (0.3, 0.001)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("model:\n  hiden_size: 3\n", "did you mean model.hidden_size"),
        ("model:\n  hidden_size: wide\n", "model.hidden_size='wide': expected int, got str"),
        ("hydra:\n  verbose: true\n", "unknown key hydra"),
        ("plugins: [no_such_module_here]\n", "plugins=no_such_module_here: cannot be imported"),
        ("model: [", "line 1: not valid YAML"),
        ("seed: 1\nseed: 2\n", r"/mine\.yaml, line 2: not valid YAML: .*seed"),
        ("- seed\n", "mine.yaml: expected keys and values"),
        ("defaults: shakespeare", "must be a list"),
        ("defaults: [shakespear]", r"mine\.yaml: no recipe named .*: did you mean shakespeare\?"),
        ("model:\n  hidden_size: 0\n", "model.hidden_size=0"),
    ],
)
def test_a_faulty_recipe_is_named(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "mine.yaml").write_text(content)
    with pytest.raises(ConfigError, match=said):
        composed(["recipe=mine"], [tmp_path])


def test_other_files_of_a_folder_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model:\n  hidden_size: 1\n")
    (tmp_path / "latin.yaml").write_bytes(b"# gr\xfcn\n")
    (tmp_path / "mine.yaml").write_text("seed: 3")
    assert composed([], [tmp_path]) == Config()
    assert composed(["recipe=mine"], [tmp_path]).seed == 3
    with pytest.raises(ConfigError, match="not UTF-8"):
        composed(["recipe=latin"], [tmp_path])


def test_a_config_dir_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        composed(["recipe=shakespeare"], [tmp_path / "none"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("shakespeare", "defaults: [shakespeare]"),
        ("ring", "defaults: [mine]"),
        ("mine", "defaults: [ring]"),
    ],
)
def test_a_recipe_that_builds_on_itself_is_named(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("defaults: [ring]")
    (tmp_path / "ring.yaml").write_text("defaults: [mine]")
    (tmp_path / f"{name}.yaml").write_text(text)
    with pytest.raises(ConfigError, match=f"recipe={name}: its defaults lead back"):
        composed([f"recipe={name}"], [tmp_path])
