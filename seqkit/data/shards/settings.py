"""The keys that shards are made with, which whoever reads them cannot change any more."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data.codecs import Codec, Quantiser
from seqkit.foundation.errors import ConfigError

_OF_TEXT = ("encoding", "newline", "unknown", "max_vocabulary")
_OF_SOUND = ("sample_rate", "channel", "channels", "levels", "symbols_per_sample", "gain")
_ALL = ("kind", "codec", "pattern", *_OF_TEXT, *_OF_SOUND)


def asked_for(data: DataConfig) -> dict[str, Any]:
    """All keys that the symbols depend on."""
    return {key: getattr(data, key) for key in (*_ALL, "on_bad_file")}


def settings_of(data: DataConfig, codec: Codec) -> dict[str, Any]:
    """The keys that the symbols of a codec were made with, the codec's own values among them."""
    keys = {"audio": _OF_SOUND, "text": _OF_TEXT, "bytes": ()}[codec.kind]
    settings = {key: getattr(data, key) for key in ("pattern", *keys)}
    settings |= {"kind": codec.kind, "codec": codec.name}
    if isinstance(codec, Quantiser):
        settings |= {"sample_rate": codec.sample_rate, "levels": codec.levels}
    return settings


def unlike(data: DataConfig, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that ask for something else than shards were made with, and what these have."""
    defaults, found = DataConfig(), {}
    for key in _ALL:
        default = getattr(defaults, key)
        made = settings.get(key, default)
        if getattr(data, key) not in (made, default):
            found[key] = made
    return found


def as_prepared(data: DataConfig, folder: Path, settings: Mapping[str, Any]) -> DataConfig:
    """The keys with those that the shards in a folder were made with.

    Raises:
        ConfigError: some ask for something else.
    """
    if made := unlike(data, settings):
        given = " ".join(f"data.{key}={getattr(data, key)}" for key in made)
        own = " ".join(f"data.{key}={value}" for key, value in made.items())
        raise ConfigError(
            f"{given}: the shards in {folder} were made with {own}: give "
            f"{'that' if len(made) == 1 else 'those'}, or prepare the data again"
        )
    known = {key: value for key, value in settings.items() if key in _ALL}
    return dataclasses.replace(data, **known)
