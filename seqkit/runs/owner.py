"""What a lock file holds: its owner, in a line of JSON, or nothing."""

import json
from typing import Any

from seqkit.foundation.escaping import visible_line

LARGEST = 1000  # bytes of an owner
_BEGIN = b'{"host": "'


def written(owner: dict[str, Any]) -> bytes:
    """The content of a lock file with this owner."""
    return json.dumps(owner).encode() + b"\n"


def named(content: bytes) -> dict[str, Any] | None:
    """Who the content of a lock file names; None for nobody, and for what no seqkit wrote."""
    try:
        owner = json.loads(content)
        process = int(owner["pid"])
        known = {"host": str(owner["host"]), "pid": process, "of": str(owner["of"])}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return known if process > 0 else None


def is_own(content: bytes) -> bool:
    """Whether seqkit wrote it: an owner, or nothing, or what a kill or a power loss left of one."""
    left = content.rstrip(b"\0")
    half = left.startswith(_BEGIN) and b"}" not in left
    return half or _BEGIN.startswith(left) or named(left) is not None


def described(owner: dict[str, Any]) -> str:
    """An owner in a few words."""
    return f"process {owner['pid']} on {visible_line(owner['host'])[:100]!r}"
