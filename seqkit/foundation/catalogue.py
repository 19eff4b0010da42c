"""The data sets and codecs that can be named: seqkit's own, and those of plug-ins.

A plug-in is an installed package with entry points in the groups `seqkit.datasets` and
`seqkit.codecs`, or a module that the user gives as `plugins=my.module`, with the mappings DATASETS
and CODECS (docs/reference/plugins.md). seqkit's own are found by the same code. Nothing is
registered: a `Catalogue` is a value that is handed down.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, NamedTuple

from seqkit.foundation.errors import ConfigError, of_plugin
from seqkit.foundation.settings import check_list, nearest

Kind = Literal["datasets", "codecs"]

_KINDS: dict[Kind, str] = {"datasets": "data set", "codecs": "codec"}
_OWN: dict[Kind, dict[str, str]] = {
    "codecs": {
        "bytes": "seqkit.data.codecs.characters:Bytes",
        "characters": "seqkit.data.codecs.characters:Characters",
        "linear": "seqkit.data.codecs.quantisers:Linear",
        "mu_law": "seqkit.data.codecs.quantisers:MuLaw",
        "spectral": "seqkit.data.codecs.spectral:Spectral",
    },
    "datasets": {
        "etude": "seqkit.data.etude:ETUDE",
        "etude_44k": "seqkit.data.etude:ETUDE_44K",
        "spoken_digits": "seqkit.data.download:SPOKEN_DIGITS",
        "tiny_shakespeare": "seqkit.data.download:TINY_SHAKESPEARE",
        "toy_sentence": "seqkit.data.datasets:TOY_SENTENCE",
    },
}
_CODEC_BASES = tuple(
    f"seqkit.data.codecs:{name}" for name in ("TextCodec", "Quantiser", "Spectral")
)


class Entry(NamedTuple):
    """Where a name comes from, in words, and what gives what it names."""

    source: str
    load: Callable[[], object]


class Catalogue:
    """All that can be named: seqkit's own, then the user's modules', then installed packages'.

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
        self._given = {kind: dict[str, Entry]() for kind in _KINDS}
        for module in self.modules:
            for kind, entries in _of_module(module).items():
                for name, entry in entries.items():
                    _load(kind, name, entry)
                self._given[kind] = entries | self._given[kind]

    def names(self, kind: Kind) -> list[str]:
        """All names of a kind, sorted."""
        return sorted(self._entries[kind])

    def find(self, kind: Kind, name: str) -> Any:
        """What a name stands for: of datasets an object with `locate`, of codecs a class.

        To look among installed packages takes time: it is done for a name that seqkit has not.

        Raises:
            ConfigError: nothing has the name, or what has it fails.
        """
        entry = _own(kind).get(name) or self._entries[kind].get(name)
        if entry is None:
            names = self.names(kind)
            raise ConfigError(
                f"no {_KINDS[kind]} named {name}{nearest(name, names)} There are "
                f"{', '.join(names)}, and those of your own from an installed package or "
                "plugins=MODULE"
            )
        return _load(kind, name, entry)

    @functools.cached_property
    def _entries(self) -> dict[Kind, dict[str, Entry]]:
        """What every name stands for, by kind; of several with one name the first counts."""
        from importlib.metadata import entry_points

        installed = entry_points()  # all at once: it reads what every installed package says
        entries = {}
        for kind in _KINDS:
            packages = {
                point.name: Entry(f"the package {point.dist and point.dist.name}", point.load)
                for point in installed.select(group=f"seqkit.{kind}")
            }
            entries[kind] = packages | self._given[kind] | _own(kind)
        return entries


def _own(kind: Kind) -> dict[str, Entry]:
    return {
        name: Entry("seqkit", partial(resolve_name, place)) for name, place in _OWN[kind].items()
    }


def _of_module(name: str) -> dict[Kind, dict[str, Entry]]:
    """What a module has, which is looked for in the current folder, too. Raises ConfigError."""
    here, source = str(Path.cwd()), f"plugins={name}"
    if here not in sys.path and "" not in sys.path:  # the console script has not put it there
        sys.path.append(here)
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{source}: cannot be imported: {of_plugin(error)}") from error
    entries: dict[Kind, dict[str, Entry]] = {}
    for kind in _KINDS:
        named = getattr(module, kind.upper(), {})
        if not isinstance(named, Mapping):
            raise ConfigError(f"{source}: {kind.upper()} is not a mapping of names to objects")
        load = named.__getitem__
        entries[kind] = {str(key): Entry(source, partial(load, key)) for key in named}
    if not (hasattr(module, "DATASETS") or hasattr(module, "CODECS")):
        raise ConfigError(f"{source}: the module has neither DATASETS nor CODECS")
    return entries


def _load(kind: Kind, name: str, entry: Entry) -> Any:
    """What an entry names, checked. Raises ConfigError with the plug-in's name."""
    label = f"the {_KINDS[kind]} {name} of {entry.source}"
    try:
        loaded: Any = entry.load()
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{label} cannot be loaded: {of_plugin(error)}") from error
    if kind == "datasets":
        if isinstance(loaded, type) or not callable(getattr(loaded, "locate", None)):
            raise ConfigError(f"{label} has no function locate(folders)")
        return loaded
    bases = tuple(map(resolve_name, _CODEC_BASES))
    if not isinstance(loaded, type) or not issubclass(loaded, bases):
        raise ConfigError(f"{label} is not a subclass of TextCodec or Quantiser")
    if (own := getattr(loaded, "name", None)) != name:
        raise ConfigError(f"{label} calls itself {own!r}: the two names must be the same")
    return loaded
