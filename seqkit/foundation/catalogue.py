"""The data sets and codecs that can be named: seqkit's own, and those of plug-ins.

A plug-in is a module that the user gives as `plugins=my.module`, with the mappings DATASETS and
CODECS (docs/reference/plugins.md). Nothing is registered: a `Catalogue` is a value that is handed
down.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

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
_CODEC_BASES = ("seqkit.data.codecs:TextCodec", "seqkit.data.codecs:Quantiser")


class Catalogue:
    """All that can be named: seqkit's own, which is loaded when it is used, and the modules'."""

    def __init__(self, modules: Sequence[str] = ()) -> None:
        """`modules` are those of `plugins=`; of several with one name the first counts.

        Raises:
            ConfigError: `modules` is no list of names; a module cannot be imported, or holds
                something of a wrong type.
        """
        check_list("plugins", modules, str)
        self.modules = tuple(dict.fromkeys(modules))
        self._given = {kind: dict[str, Any]() for kind in _KINDS}
        for module in self.modules:
            for kind, found in _of_module(module).items():
                self._given[kind] = found | self._given[kind]

    def names(self, kind: Kind) -> list[str]:
        """All names of a kind, sorted."""
        return sorted({*_OWN[kind], *self._given[kind]})

    def find(self, kind: Kind, name: str) -> Any:
        """What a name stands for: of datasets an object with `locate`, of codecs a class.

        Raises ConfigError where nothing has the name.
        """
        if name in _OWN[kind]:
            return resolve_name(_OWN[kind][name])
        if name not in self._given[kind]:
            names = self.names(kind)
            raise ConfigError(
                f"no {_KINDS[kind]} named {name}{nearest(name, names)} There are "
                f"{', '.join(names)}, and those of your own from plugins=MODULE"
            )
        return self._given[kind][name]


def _of_module(name: str) -> dict[Kind, dict[str, Any]]:
    """What a module has, which is looked for in the current folder, too. Raises ConfigError."""
    here, source = str(Path.cwd()), f"plugins={name}"
    if here not in sys.path and "" not in sys.path:  # the console script has not put it there
        sys.path.append(here)
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{source}: cannot be imported: {of_plugin(error)}") from error
    found: dict[Kind, dict[str, Any]] = {}
    for kind, noun in _KINDS.items():
        named = getattr(module, kind.upper(), {})
        if not isinstance(named, Mapping):
            raise ConfigError(f"{source}: {kind.upper()} is not a mapping of names to objects")
        found[kind] = {str(key): value for key, value in named.items()}
        for key, value in found[kind].items():
            _check(kind, key, value, f"the {noun} {key} of {source}")
    if not (hasattr(module, "DATASETS") or hasattr(module, "CODECS")):
        raise ConfigError(f"{source}: the module has neither DATASETS nor CODECS")
    return found


def _check(kind: Kind, name: str, value: Any, label: str) -> None:
    """Raise ConfigError, which begins with `label`, where a module names something else."""
    if kind == "datasets":
        if isinstance(value, type) or not callable(getattr(value, "locate", None)):
            raise ConfigError(f"{label} has no function locate(folders)")
        return
    bases = tuple(map(resolve_name, _CODEC_BASES))
    if not isinstance(value, type) or not issubclass(value, bases):
        raise ConfigError(f"{label} is not a subclass of TextCodec or Quantiser")
    if (own := getattr(value, "name", None)) != name:
        raise ConfigError(f"{label} calls itself {own!r}: the two names must be the same")
