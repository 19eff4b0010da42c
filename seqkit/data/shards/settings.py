"""The keys that shards are made with, which whoever reads them cannot change any more."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data.codecs import Codec, Quantiser
from seqkit.errors import ConfigError

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


def as_prepared(data: DataConfig, folder: Path, settings: Mapping[str, Any]) -> DataConfig:
    """The keys with those that the shards in a folder were made with.

    Raises:
        ConfigError: one was given that asks for something else.
    """
    defaults = DataConfig()
    for key in _ALL:
        given, made = getattr(data, key), settings.get(key, getattr(defaults, key))
        if given not in (made, getattr(defaults, key)):
            raise ConfigError(
                f"data.{key}={given}: the shards in {folder} were made with data.{key}={made}: "
                "give that, or prepare the data again"
            )
    known = {key: value for key, value in settings.items() if key in _ALL}
    return dataclasses.replace(data, **known)
