"""Hydra over all folders that have configs: groups as they lie, and recipes.

Hydra keeps its state in the process. A program that calls seqkit may be an application of Hydra
itself, with configs of its own: all of its state is put aside here, and put back.
"""

import contextlib
import copy
import functools
import re
import threading
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigNode, ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.core.utils import JobRuntime
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.version import VersionBase
from omegaconf import DictConfig, OmegaConf

from seqkit.compose.resolvers import registered
from seqkit.config import Config
from seqkit.foundation import config_file, disk
from seqkit.foundation.catalogue import Catalogue, recipe_folders
from seqkit.foundation.config_file import with_listed_path
from seqkit.foundation.errors import ConfigError

_UNUSED = ("help", "hydra_help", "hydra_logging", "job_logging", "launcher", "output", "sweeper")
"""Groups of Hydra's own config; without them composing takes a quarter less time."""
_PACKAGE = re.compile(r"\s*#\s*@package[ \t]+(\S+)")
_SEARCHED: ContextVar[tuple[Path, ...]] = ContextVar("searched", default=())
_TURN = threading.RLock()


@contextlib.contextmanager
def configs(catalogue: Catalogue, config_dirs: list[Path]) -> Iterator[ConfigLoader]:
    """Let Hydra know seqkit's configs in the block, and no others.

    The user's folders come first, then seqkit's own and those of plug-ins.
    """
    folders = (*config_dirs, *recipe_folders(catalogue, config_dirs))
    for kind in (FolderSource, FolderSearch):
        Plugins.instance().register(kind)
    store = ConfigStore.instance()
    with _TURN, registered():
        application, base, stored = GlobalHydra.instance(), VersionBase.instance(), store.repo
        searched = _SEARCHED.set(tuple(dict.fromkeys(folder.absolute() for folder in folders)))
        try:
            GlobalHydra.set_instance(copy.copy(application))
            GlobalHydra.instance().clear()
            VersionBase.set_instance(copy.copy(base))
            store.repo = {"hydra": stored["hydra"], "schema.yaml": _schema()}
            name, conf = JobRuntime.instance().get("name"), str(disk.config_dir("conf"))
            hydra.initialize_config_dir(conf, name, version_base="1.3")
            yield GlobalHydra.instance().config_loader()
        finally:
            _SEARCHED.reset(searched)
            store.repo = stored
            GlobalHydra.set_instance(application)
            VersionBase.set_instance(base)


@functools.cache  # it takes as long as all else
def _schema() -> ConfigNode:
    node = OmegaConf.structured(Config)
    return ConfigNode("schema.yaml", node, group=None, package=None, provider="seqkit")


def composed(overrides: list[str]) -> DictConfig:
    """`conf/config.yaml`, its groups and a recipe, with the overrides; within `configs`.

    Raises:
        HydraException, OmegaConfBaseException: it cannot be composed so.
    """
    return hydra.compose("config", [*overrides, *(f"~hydra/{group}" for group in _UNUSED)])


def choices(loader: ConfigLoader, group: str) -> list[str]:
    """What there is to choose of a group. Hydra's own method copies all sources first."""
    sources = (source for source in loader.get_sources() if source.is_group(group))
    return sorted({name for source in sources for name in source.list(group, ObjectType.CONFIG)})


class FolderSearch(SearchPathPlugin):
    """Adds the folders of `configs` to what Hydra searches; none outside of its block."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add them after the main config's folder."""
        for folder in _SEARCHED.get():
            search_path.append("seqkit", f"{FolderSource.scheme()}://{folder}")


class FolderSource(ConfigSource):
    """A folder of groups and of recipes; `data.path` may be a string there, or a list.

    Recipes lie in the folder itself, or in its `recipe` or `recipes`, and set keys of the root.
    """

    @staticmethod
    def scheme() -> str:
        """What the folder's address begins with."""
        return "seqkit"

    def available(self) -> bool:
        """Whether there is such a folder."""
        return Path(self.path).is_dir()

    def is_group(self, config_path: str) -> bool:
        """Whether a group is there, by its path in the folder."""
        return any(place.is_dir() for place in self._places(config_path))

    def is_config(self, config_path: str) -> bool:
        """Whether a config is there, by its path in the folder."""
        return self._file(config_path).is_file()

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """The names of a group's configs; groups in it are not listed."""
        if results_filter == ObjectType.GROUP:
            return []
        files = [file for place in self._places(config_path) for file in place.glob("*.yaml")]
        return sorted({file.stem for file in files if file.is_file()})

    def load_config(self, config_path: str) -> ConfigResult:
        """A config that is there. Raises ConfigError."""
        file, (group, _, _) = self._file(config_path), config_path.partition("/")
        try:
            text = file.read_text("utf-8")
            content: Any = OmegaConf.to_container(OmegaConf.create(text))
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file}: not UTF-8") from error
        except yaml.YAMLError as error:
            raise ConfigError(config_file.explain(error, str(file))) from error
        if isinstance(content, dict):
            if "hydra" in content:  # Hydra's own config, of which nothing is used
                raise ConfigError(f"{file}: unknown key hydra")
            if group == "data":
                content = with_listed_path(content)
            elif isinstance(data := content.get("data"), dict):
                content["data"] = with_listed_path(data)
        match = _PACKAGE.match(text)
        package = match[1] if match else "_global_" if group == "recipe" else None
        config = OmegaConf.create(content)
        return ConfigResult(self.provider, self.full_path(), config, {"package": package})

    def _places(self, group: str) -> Sequence[Path]:
        """The folders that may hold the configs of a group."""
        folder = Path(self.path)
        if group == "recipe":
            return [folder / "recipe", folder / "recipes", folder]
        return [folder / group]

    def _file(self, config_path: str) -> Path:
        """The file of a config; where it is not there, that of the last place."""
        group, _, name = config_path.rpartition("/")
        files = [place / f"{name}.yaml" for place in self._places(group)]
        return next((file for file in files if file.is_file()), files[-1])
