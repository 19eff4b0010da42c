"""Hydra's loader of configs, over all folders that have some: groups as they lie, and recipes."""

from pathlib import Path
from typing import Any

import yaml
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, ConfigRepository
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.config_store import ConfigStore
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import setup_globals
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, OmegaConf

from seqkit.config import Config
from seqkit.foundation import config_file, disk
from seqkit.foundation.config_file import with_listed_path
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.plugins import Catalogue, recipe_folders

_ROOT = "config"  # conf/config.yaml


class Loader(ConfigLoaderImpl):
    """Composes configs without Hydra's own, which takes longer to compose than seqkit's."""

    def composed(self, overrides: list[Override]) -> DictConfig:
        """The config of `conf/config.yaml`, its groups and a recipe, with the overrides.

        Raises:
            HydraException, OmegaConfBaseException: it cannot be composed so.
        """
        # It copies what it is given, with everything that the process knows of configs.
        found = CachingConfigRepository(ConfigRepository(ConfigSearchPathImpl()))
        found.initialize_sources(self.config_search_path)
        chosen = create_defaults_list(
            repo=found,
            config_name=_ROOT,
            overrides_list=overrides,
            prepend_hydra=False,
            skip_missing=False,
        )
        config = self._compose_config_from_defaults_list(chosen.defaults, found)
        OmegaConf.set_struct(config, True)  # a key that the schema lacks is an error
        own = [item for item in chosen.config_overrides if not item.is_hydra_override()]
        self._apply_overrides_to_config(own, config)
        return config

    def choices(self, group: str) -> list[str]:
        """What there is to choose of a group. Hydra's own method copies all sources first."""
        return self.repository.get_group_options(group, ObjectType.CONFIG)


def loader(catalogue: Catalogue, config_dirs: list[Path]) -> Loader:
    """Over the user's folders, seqkit's own, those of plug-ins, and the schema."""
    for source in (GroupSource, RecipeSource):
        Plugins.instance().register(source)
    setup_globals()  # ${now:%Y} of a recipe
    store = ConfigStore.instance()
    known = store.repo.get("schema.yaml")
    if known is None or OmegaConf.get_type(known.node) is not Config:  # a script may have its own
        store.store("schema", node=Config)
    search_path = ConfigSearchPathImpl()
    for folder in recipe_folders(catalogue, config_dirs):
        search_path.append("recipes", f"recipes://{folder.absolute()}")
    search_path.append("seqkit", f"file://{disk.config_dir('conf')}")
    for folder in config_dirs:
        search_path.append("user", f"groups://{folder.absolute()}")
    search_path.append("schema", "structured://")
    return Loader(search_path)


class GroupSource(FileConfigSource):
    """Serves a folder of groups; `data.path` may be a string there, or a list."""

    @staticmethod
    def scheme() -> str:
        return "groups"

    def load_config(self, config_path: str) -> ConfigResult:
        file = f"{self.path}/{config_path.removesuffix('.yaml')}.yaml"
        try:
            found = super().load_config(config_path)
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file}: not UTF-8") from error
        except yaml.YAMLError as error:
            raise ConfigError(config_file.explain(error, file)) from error
        content: Any = OmegaConf.to_container(found.config)
        if isinstance(content, dict):
            if config_path.startswith("data/"):
                found.config = OmegaConf.create(with_listed_path(content))
            elif isinstance(content.get("data"), dict):
                data = with_listed_path(content["data"])
                found.config = OmegaConf.create({**content, "data": data})
        return found


class RecipeSource(GroupSource):
    """Serves a flat folder of recipes as Hydra's group `recipe`."""

    @staticmethod
    def scheme() -> str:
        return "recipes"

    def available(self) -> bool:
        return Path(self.path).is_dir()

    def is_group(self, config_path: str) -> bool:
        return config_path in ("", "recipe")

    def is_config(self, config_path: str) -> bool:
        name = self._name(config_path)
        return name is not None and super().is_config(name)

    def load_config(self, config_path: str) -> ConfigResult:
        found = super().load_config(self._name(config_path) or config_path)
        found.header["package"] = found.header.get("package") or "_global_"
        return found

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        if config_path == "":
            return [] if results_filter == ObjectType.CONFIG else ["recipe"]
        if results_filter == ObjectType.GROUP:
            return []
        return sorted(file.stem for file in Path(self.path).glob("*.yaml"))

    @staticmethod
    def _name(config_path: str) -> str | None:
        group, _, name = config_path.partition("/")
        return name if group == "recipe" and name and "/" not in name else None
