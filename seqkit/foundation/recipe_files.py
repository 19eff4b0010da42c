"""The recipes that there are, in the user's folders and in a catalogue."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from seqkit.foundation.errors import ConfigError
from seqkit.foundation.plugins import Catalogue


def recipes(catalogue: Catalogue, config_dirs: Sequence[Path]) -> dict[str, str]:
    """The recipes by name, each with the first comment line of its file that is not a directive."""
    found = {}
    for name in catalogue.names("recipes"):
        try:
            found[name] = _description(catalogue.find("recipes", name))
        except ConfigError as error:
            found[name] = str(error)
    for folder in reversed(user_recipe_folders(config_dirs)):
        files = (file for file in folder.glob("*.yaml") if file.is_file())
        found |= {file.stem: _description(file) for file in files}
    return dict(sorted(found.items()))


def recipe_folders(catalogue: Catalogue, config_dirs: Sequence[Path]) -> list[Path]:
    """Where recipes are looked for, the first find counts; the user's folders come first."""
    folders = user_recipe_folders(config_dirs)
    for entry in catalogue.entries("recipes"):
        with contextlib.suppress(OSError):  # said when that recipe is asked for
            folders.append(Path(str(entry.load())).parent)
    return list(dict.fromkeys(folders))


def user_recipe_folders(config_dirs: Sequence[Path]) -> list[Path]:
    """The folders of recipes that --config-dir means: DIR itself, its `recipe` and `recipes`.

    Raises:
        ConfigError: DIR is no folder.
    """
    for folder in config_dirs:
        if not folder.is_dir():
            raise ConfigError(f"--config-dir {folder}: no such folder")
    named = [folder / name for folder in config_dirs for name in ("recipe", "recipes", "")]
    return [folder for folder in named if folder.is_dir()]


def _description(file: Path) -> str:
    lines = file.read_text("utf-8", "replace").splitlines()
    comments = (line[1:].strip() for line in lines if line[:1] == "#")
    return next((line for line in comments if line[:1] != "@"), "")
