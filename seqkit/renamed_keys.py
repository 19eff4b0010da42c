"""Keys that had another name in older versions."""

from collections.abc import Mapping
from typing import Any

RENAMED = {"data.quantiser": "data.codec"}
"""Keys of older versions and what they are called now."""


def upgrade(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The config of a run or checkpoint, with the keys of older versions as they are called now."""
    config = dict(saved)
    data = config.get("data")
    if isinstance(data, Mapping) and "quantiser" in data:
        data = dict(data)
        quantiser = data.pop("quantiser")  # mu_law was the default, for text too
        data.setdefault("codec", "auto" if quantiser == "mu_law" else quantiser)
        config["data"] = data
    return config
