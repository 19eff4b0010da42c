"""What can be named: data sets, codecs and recipes, seqkit's own and those of plug-ins.

A plug-in is an installed package with entry points in the groups `seqkit.datasets`,
`seqkit.codecs` and `seqkit.recipes`, or a module that the user gives as `plugins=my.module`, with
the mappings DATASETS and CODECS and the folder RECIPES (docs/reference/plugins.md). seqkit's own
are found by the same code. Nothing is registered: a `Catalogue` is a value that is handed down.
"""

import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple

from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, of_plugin
from seqkit.foundation.settings import check_list

Kind = Literal["datasets", "codecs", "recipes"]

_KINDS: dict[Kind, str] = {"datasets": "data set", "codecs": "codec", "recipes": "recipe"}
_OWN_CODECS = {
    "bytes": "seqkit.data.codecs.characters:Bytes",
    "characters": "seqkit.data.codecs.characters:Characters",
    "linear": "seqkit.data.codecs.quantisers:Linear",
    "mu_law": "seqkit.data.codecs.quantisers:MuLaw",
}
_CODEC_BASES = ("seqkit.data.codecs:TextCodec", "seqkit.data.codecs:Quantiser")
_DATASETS = Path(__file__).parents[1] / "data" / "datasets"


class Entry(NamedTuple):
    """A name, where it comes from (in words), and what it names or how to import that."""

    name: str
    source: str
    value: object | EntryPoint


class Catalogue:
    """All that can be named: seqkit's own, installed packages' and the user's modules'.

    Installed plug-ins are imported when something of theirs is used; the user's modules at once.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        """`modules` are those of `plugins=`.

        Raises:
            ConfigError: `modules` is no list of names; a module cannot be imported, or holds
                something of a wrong type.
        """
        check_list("plugins", modules, str)
        self.modules = tuple(dict.fromkeys(modules))
        self._given = {name: _import(name) for name in self.modules}
        for kind in _KINDS if self.modules else ():
            for entry in self.entries[kind]:
                if entry.source.startswith("plugins="):
                    _load(kind, entry)

    def names(self, kind: Kind) -> list[str]:
        """All names of a kind, sorted."""
        return sorted({entry.name for entry in self.entries[kind]})

    def find(self, kind: Kind, name: str) -> Any:
        """What a name stands for.

        Returns:
            For datasets an object with `locate`, for codecs a class, for recipes a YAML file's
            path.

        Raises:
            ConfigError: nothing has the name, two things have it, or its plug-in fails.
        """
        matches = [entry for entry in self.entries[kind] if entry.name == name]
        what = _KINDS[kind]
        if not matches:
            raise ConfigError(
                f"no {what} named {name}: there are {', '.join(self.names(kind))}, and those of "
                "your own from an installed package or plugins=MODULE"
            )
        if len(matches) > 1:
            sources = " and in ".join(entry.source for entry in matches)
            raise ConfigError(f"the {what} {name} is in {sources}: rename or uninstall one of them")
        return _load(kind, matches[0])

    @functools.cached_property
    def entries(self) -> dict[Kind, list[Entry]]:
        """Every name with its source, by kind; a name may come twice."""
        installed = entry_points()  # all at once: it reads what every installed package says
        entries = {
            kind: [*_own(kind), *_installed(kind, installed.select(group=f"seqkit.{kind}"))]
            for kind in _KINDS
        }
        for name, module in self._given.items():
            for kind in _KINDS:
                entries[kind] += _of_module(kind, module, f"plugins={name}")
        return entries


def take_modules(arguments: Iterable[str]) -> tuple[list[str], list[str]]:
    """The arguments without `plugins=`, and the modules that it names.

    Several are given as `a,b`, as `[a,b]`, or one by one. Raises ConfigError.
    """
    others: list[str] = []
    modules: list[str] = []
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if key != "plugins" or not sign:
            others.append(argument)
            continue
        names = [module.strip() for module in value.removeprefix("[").removesuffix("]").split(",")]
        if not all(names):
            raise ConfigError(f"{argument}: give the names of modules, as in plugins=my_module")
        modules += names
    return others, list(dict.fromkeys(modules))


def recipes(catalogue: Catalogue, config_dirs: Sequence[Path]) -> dict[str, str]:
    """The recipes by name, each with the first comment line of its file that is not a directive."""
    described = {}
    for name in catalogue.names("recipes"):
        try:
            described[name] = _description(catalogue.find("recipes", name))
        except ConfigError as error:
            described[name] = str(error)
    for folder in reversed(user_recipe_folders(config_dirs)):
        files = (file for file in folder.glob("*.yaml") if file.is_file())
        described |= {file.stem: _description(file) for file in files}
    return dict(sorted(described.items()))


def recipe_folders(catalogue: Catalogue, config_dirs: Sequence[Path]) -> list[Path]:
    """Where recipes are looked for, the first find counts; the user's folders come first."""
    folders = user_recipe_folders(config_dirs)
    folders += [Path(str(entry.value)).parent for entry in catalogue.entries["recipes"]]
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


def _own(kind: Kind) -> Iterator[Entry]:
    if kind == "recipes":
        yield from _in_folder(disk.config_dir("recipes"), "seqkit")
        return
    names = sorted(file.stem for file in _DATASETS.glob("[a-z]*.py"))
    datasets = {name: f"seqkit.data.datasets.{name}" for name in names}
    for name, value in (_OWN_CODECS if kind == "codecs" else datasets).items():
        yield Entry(name, "seqkit", EntryPoint(name, value, "seqkit"))


def _installed(kind: Kind, points: Iterable[EntryPoint]) -> Iterator[Entry]:
    for point in points:
        source = f"the package {point.dist.name if point.dist else point.value}"
        if kind == "recipes":
            for folder in _folders(point.value):
                yield from _in_folder(folder, source)
        else:
            yield Entry(point.name, source, point)


def _of_module(kind: Kind, module: ModuleType, source: str) -> list[Entry]:
    """What a module of the user's has of a kind. Raises ConfigError."""
    if not any(hasattr(module, other.upper()) for other in _KINDS):
        raise ConfigError(f"{source}: the module has no DATASETS, CODECS or RECIPES")
    value = getattr(module, kind.upper(), None)
    if value is None:
        return []
    if kind == "recipes":
        folder = Path(module.__file__ or "").parent / str(value)
        if not folder.is_dir():
            raise ConfigError(f"{source}: RECIPES: no such folder: {folder}")
        return _in_folder(folder, source)
    if not isinstance(value, Mapping):
        raise ConfigError(f"{source}: {kind.upper()} is not a mapping of names to objects")
    return [Entry(str(name), source, item) for name, item in value.items()]


def _in_folder(folder: Path, source: str) -> list[Entry]:
    files = sorted(file for file in folder.glob("*.yaml") if file.is_file())
    return [Entry(file.stem, source, file) for file in files]


def _load(kind: Kind, entry: Entry) -> Any:
    """What an entry names, checked. Raises ConfigError with the plug-in's name."""
    label = f"the {_KINDS[kind]} {entry.name} of {entry.source}"
    try:
        value = entry.value
        loaded = value.load() if isinstance(value, EntryPoint) else value
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{label} cannot be loaded: {of_plugin(error)}") from error
    if fault := _fault(kind, entry.name, loaded):
        raise ConfigError(f"{label} {fault}")
    return loaded


def _fault(kind: Kind, name: str, loaded: Any) -> str | None:
    """What is wrong with an object under a name, if anything is."""
    if kind == "datasets":
        fits = callable(getattr(loaded, "locate", None)) and not isinstance(loaded, type)
        return None if fits else "has no function locate(folders)"
    if kind == "codecs":
        bases = tuple(EntryPoint("", base, "").load() for base in _CODEC_BASES)
        if not isinstance(loaded, type) or not issubclass(loaded, bases):
            return "is not a subclass of TextCodec or Quantiser (seqkit.data.codecs)"
        if lacking := sorted(getattr(loaded, "__abstractmethods__", ())):
            return f"lacks {', '.join(lacking)}"
        if getattr(loaded, "name", None) != name:
            return f"calls itself {getattr(loaded, 'name', None)!r}: the two names must be the same"
    return None


def _import(name: str) -> ModuleType:
    """A module of the user's, from the current folder too. Raises ConfigError."""
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:  # the console script has not put it there
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"plugins={name}: cannot be imported: {of_plugin(error)}") from error


def _folders(value: str) -> list[Path]:
    """The folder of `package.folder`, if it is there; nothing is imported."""
    top, *inner = value.split(".")
    spec = importlib.util.find_spec(top)
    places = (spec.submodule_search_locations or ()) if spec else ()
    return [folder for place in places if (folder := Path(place, *inner)).is_dir()]


def _description(file: Path) -> str:
    lines = file.read_text("utf-8", "replace").splitlines()
    comments = (line[1:].strip() for line in lines if line[:1] == "#")
    return next((line for line in comments if line[:1] != "@"), "")
