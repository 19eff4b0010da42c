"""A config as a run keeps it: in its checkpoints, from which it goes on, and as YAML for people.

A checkpoint may come from anywhere. Its config is data: nothing in it is imported, executed or put
into another value, and every key and value is checked.
"""

import dataclasses
import typing
from collections.abc import Collection, Mapping
from typing import Any

from seqkit.config import Config, check, options, set_value, values_of
from seqkit.foundation import dropped
from seqkit.foundation.catalogue import Catalogue, Kind
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import nearest

_LONGEST = 60  # characters of an unknown key
_KIN = (("prompt", "prompt_file", "prompt_audio"), ("length", "seconds"))
"""Keys of which one replaces the others."""
_OF_A_COMMAND = ("json", "out", "overwrite", "plugins", "quiet", "resume", "run_dir")
"""Keys that hold for one command line, and not for the next."""


def to_yaml(config: Config) -> str:
    """A config as YAML."""
    import yaml  # which nothing that generates needs

    return str(yaml.safe_dump(dataclasses.asdict(config), sort_keys=False, allow_unicode=True))


def from_values(saved: Mapping[str, Any], file: str) -> Config:
    """The config that a checkpoint holds, of this version or an older one.

    Raises:
        ConfigError: it is none; the message begins with `file`.
    """
    try:
        config = filled(saved, passed_over=True)
        check(config)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    return config


def filled(values: Mapping[Any, Any], passed_over: bool) -> Config:
    """The config with these values, which are not checked yet.

    Raises:
        ConfigError: a key is not known, or was dropped and is not `passed_over`.
    """
    config = Config()
    _fill(config, values, passed_over)
    return config


def with_given(stored: Config, given: Config, keys: Collection[str]) -> Config:
    """A run's own config with the keys that a command line gives.

    Args:
        stored: the run's.
        given: the command line's.
        keys: those that it gives; its others have their defaults.

    Raises:
        ConfigError: a group is among them.
    """
    replaced = {key for kin in _KIN if {*kin} & {*keys} for key in kin}
    values = values_of(given)
    for name in {*keys, *replaced, *_OF_A_COMMAND}:
        if name not in values:
            raise ConfigError(
                f"{name}=: a group is chosen when a run starts; to go on with a run, give keys "
                "one by one"
            )
        set_value(stored, name, values[name])
    return stored


def check_plugins(stored: Config, catalogue: Catalogue) -> None:
    """Raise ConfigError where a run uses plug-ins that are not given: its file imports nothing."""
    lacking = [module for module in stored.plugins if module not in catalogue.modules]
    used: list[tuple[str, Kind, str]] = [("data.codec", "codecs", stored.data.codec)]
    if not stored.data.path:
        used.append(("data.dataset", "datasets", stored.data.dataset))
    for key, kind, name in used:
        if lacking and name not in ("", "auto") and name not in catalogue.names(kind):
            raise ConfigError(
                f"{key}={name}, which the run uses, was not found: "
                f"give plugins={','.join(stored.plugins)} again"
            )


def _fill(section: Any, values: Mapping[Any, Any], passed_over: bool, prefix: str = "") -> None:
    """Set the fields of a dataclass. Raises ConfigError."""
    fields = {item.name: item.type for item in dataclasses.fields(section)}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if passed_over and name == "launcher" and isinstance(value, Mapping):
            continue  # before 0.3.0 launcher was a group
        if said := dropped.instead(name, value):
            if passed_over:
                continue
            raise ConfigError(f"{name}: that is gone: {said}")
        if key not in fields:
            hint = nearest(name, [known for known, _ in options()])
            raise ConfigError(f"unknown key {name[:_LONGEST]}{hint}")
        if not dataclasses.is_dataclass(fields[key]):
            texts = value if isinstance(value, list) else [value]
            if any("\0" in text for text in texts if isinstance(text, str)):
                raise ConfigError(f"{prefix}{key}: it contains a NUL character")
            setattr(section, key, _as_typed(value, fields[key]))
        elif isinstance(value, Mapping):
            _fill(getattr(section, key), value, passed_over, f"{key}.")
        else:
            raise ConfigError(f"{key}: expected keys and values, got {type(value).__name__}")


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
