"""A folder of recipes as one of the places where Hydra looks for config files."""

from pathlib import Path

import yaml
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult
from omegaconf import OmegaConf

from seqkit import config_file
from seqkit.errors import ConfigError
from seqkit.renamed_keys import with_listed_path


class RecipeSource(FileConfigSource):
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
        name = self._name(config_path) or config_path
        file = f"{self.path}/{name}.yaml"
        try:
            found = super().load_config(name)
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file}: not UTF-8") from error
        except yaml.YAMLError as error:
            raise ConfigError(config_file.explain(error, file)) from error
        except RecursionError as error:
            raise ConfigError(f"{file}: an alias in it names what it stands in") from error
        found.header["package"] = found.header.get("package") or "_global_"
        content = OmegaConf.to_container(found.config)
        if isinstance(content, dict) and isinstance(content.get("data"), dict):
            found.config = OmegaConf.create({**content, "data": with_listed_path(content["data"])})
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
