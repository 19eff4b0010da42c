"""A config as a run keeps it: in its checkpoints, from which it goes on, and as YAML for people.

A checkpoint may come from anywhere. Its config is data: nothing in it is imported, executed or put
into another value, and every key and value is checked.
"""

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from seqkit.config import Config, ModelConfig, check, options
from seqkit.foundation.errors import ConfigError, UnreadableError
from seqkit.foundation.settings import check_section, nearest

_LONGEST = 60  # characters of an unknown key


def to_yaml(config: Config) -> str:
    """A config as YAML."""
    import yaml  # which nothing that generates needs

    return str(yaml.safe_dump(dataclasses.asdict(config), sort_keys=False, allow_unicode=True))


def from_values(saved: Mapping[str, Any], file: str) -> Config:
    """The config that a checkpoint holds.

    Raises UnreadableError: it is none; the message begins with `file`.
    """
    try:
        config = Config()
        fill(config, saved)
        check(config)
    except ConfigError as error:
        raise UnreadableError(f"{file}: {error}") from error
    return config


def network_from(saved: object) -> ModelConfig:
    """The network's keys that a checkpoint holds. Raises ConfigError: they are none."""
    model = ModelConfig()
    fill(model, saved, "model.")
    check_section(model, "model.")
    return model


def fill(section: Any, values: object, prefix: str = "") -> None:
    """Set the fields of a dataclass to values, which are not checked yet.

    Raises ConfigError: a key is not known.
    """
    if not isinstance(values, Mapping):
        group = prefix.removesuffix(".")
        raise ConfigError(f"{group}: expected keys and values, got {type(values).__name__}")
    fields = {item.name: item.type for item in dataclasses.fields(section)}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if key not in fields:
            hint = nearest(name, [known for known, _ in options()])
            raise ConfigError(f"unknown key {name[:_LONGEST]}{hint}")
        if dataclasses.is_dataclass(fields[key]):
            fill(getattr(section, key), value, f"{key}.")
            continue
        texts = value if isinstance(value, list) else [value]
        if any("\0" in text for text in texts if isinstance(text, str)):
            raise ConfigError(f"{name}: it contains a NUL character")
        setattr(section, key, _as_typed(value, fields[key]))


def _as_typed(value: object, kind: Any) -> object:
    """The value; whole numbers where a key has fractions as these, one text for a list as such."""
    if kind == list[str] and isinstance(value, str):
        return [value] if value else []
    if float not in (kind, *typing.get_args(kind)):
        return value
    if isinstance(value, list):
        return [_as_typed(item, float) for item in value]
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return float(value) if whole else value  # type: ignore[arg-type]
