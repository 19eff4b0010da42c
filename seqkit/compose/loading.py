"""Hydra's loader of configs, over all folders that have some; nothing else of Hydra is used."""

from pathlib import Path

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, ConfigRepository
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.config_store import ConfigStore
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import setup_globals
from omegaconf import DictConfig, OmegaConf

from seqkit.compose.config_sources import GroupSource, RecipeSource
from seqkit.config import Config
from seqkit.foundation import disk
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
