"""What the cache remembers as JSON: beside its sha256, so that damage is found."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqkit.foundation import disk


def read(path: Path) -> dict[str, Any] | None:
    """What was written; None if the file is not there, or damaged."""
    try:
        content = json.loads(path.read_bytes())
        value, digest = content["value"], content["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) and digest == _digest(value) else None


def write(path: Path, value: Mapping[str, Any]) -> None:
    """Remember JSON values, as `json.loads` gives them. Raises OutputError."""
    content = json.dumps({"sha256": _digest(value), "value": value}).encode()
    with disk.atomic_write(path) as stream:
        stream.write(content)


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
