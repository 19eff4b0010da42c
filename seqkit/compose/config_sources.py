"""Folders in which Hydra looks for config files: groups as they lie, and recipes."""

from pathlib import Path
from typing import Any

import yaml
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult
from omegaconf import OmegaConf

from seqkit.foundation import config_file
from seqkit.foundation.config_file import with_listed_path
from seqkit.foundation.errors import ConfigError


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
        except RecursionError as error:
            raise ConfigError(f"{file}: an alias in it names what it stands in") from error
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
