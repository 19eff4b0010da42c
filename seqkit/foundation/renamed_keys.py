"""Keys that had another name, or another type, in older versions."""

from collections.abc import Mapping
from typing import Any

RENAMED = {"data.quantiser": "data.codec"}
"""Keys of older versions and what they are called now."""


def upgrade(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The config of a run or checkpoint, its keys named and typed as they are now."""
    config = dict(saved)
    data = config.get("data")
    if isinstance(data, Mapping):
        data = with_listed_path(data)
        if "quantiser" in data:
            quantiser = data.pop("quantiser")  # mu_law was the default, for text too
            data.setdefault("codec", "auto" if quantiser == "mu_law" else quantiser)
        if data.get("kind") in ("text", "bytes"):  # 0.1.0 read nothing else in a folder
            data.setdefault("pattern", "*.txt")
        config["data"] = data
    return config


def with_listed_path(data: Mapping[str, Any]) -> dict[str, Any]:
    """The keys `data.*` with `path` as a list, which may be written as one string (as in 0.1.0)."""
    path = data.get("path")
    return {**data, "path": [path] if path else []} if isinstance(path, str) else dict(data)
