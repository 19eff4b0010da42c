"""Where recipes lie: in the user's folders, in seqkit's own, and in those of installed packages."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError


def recipe_files(config_dirs: Sequence[Path]) -> dict[str, Path]:
    """The file of each recipe by its name; of several with one name that of the first folder.

    The folders of `--config-dir` come first, each with its `recipe` and `recipes`, then seqkit's,
    then those that packages name in the group `seqkit.recipes` of their entry points.

    Raises:
        ConfigError: a folder of `--config-dir` is not there.
    """
    from importlib.metadata import entry_points  # which nothing that generates needs

    folders = list[Path]()
    for folder in config_dirs:
        if not folder.is_dir():
            raise ConfigError(f"--config-dir {folder}: no such folder")
        folders += [folder / "recipe", folder / "recipes", folder]
    folders.append(disk.config_dir("recipes"))
    for point in entry_points(group="seqkit.recipes"):
        folders += _folders(point.value)
    files = [file for folder in folders for file in folder.glob("*.yaml") if file.is_file()]
    return dict(sorted({file.stem: file for file in reversed(files)}.items()))


def described(config_dirs: Sequence[Path]) -> dict[str, str]:
    """The recipes by name, each with the first comment of its file that is not a directive."""
    return {name: _description(file) for name, file in recipe_files(config_dirs).items()}


def _folders(value: str) -> list[Path]:
    """The folder of `package.folder`; nothing is imported."""
    top, *inner = value.split(".")
    spec = importlib.util.find_spec(top)
    places = (spec.submodule_search_locations or ()) if spec else ()
    return [Path(place, *inner) for place in places]


def _description(file: Path) -> str:
    lines = file.read_text("utf-8", "replace").splitlines()
    comments = (line[1:].strip() for line in lines if line[:1] == "#")
    return next((line for line in comments if line[:1] != "@"), "")
