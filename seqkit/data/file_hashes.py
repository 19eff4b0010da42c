"""The hashes of data files, remembered as long as the files do not change."""

import contextlib
import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqkit.data import checked_json
from seqkit.data.bad_files import BadFileError
from seqkit.data.datasets import Located
from seqkit.data.files import blocks
from seqkit.data.meter import Meter
from seqkit.data.stamps import stamp
from seqkit.foundation.errors import OutputError

_SETTLED = 2.0  # seconds after which a file's time stamps tell of every later change


def of(
    located: Located, files: Mapping[str, Path], cache: Path, meter: Meter
) -> tuple[dict[str, str], int]:
    """The sha256 of every file, and how many bytes they have together.

    Args:
        located: the paths for which they are remembered together.
        files: by name, as `Search.named` names them.
        cache: the folder for encoded data.
        meter: shows how far files were read.

    Raises:
        BadFileError: a file cannot be read.
    """
    place = b"\0".join(os.fsencode(root.resolve()) for root in located.paths)
    memory = cache / "hashes" / (hashlib.sha256(place).hexdigest()[:32] + ".json")
    known = checked_json.read(memory) or {}
    stamps: dict[str, list[Any]] = {}
    for name, file in files.items():
        try:
            stamps[name] = stamp(file.stat())
        except OSError as error:
            raise BadFileError.of(file, error) from error
    entries = {
        name: known[name]
        for name, own in stamps.items()
        if isinstance(known.get(name), list) and known[name][:-1] == own
    }
    new = [name for name in files if name not in entries]
    with meter.shown("hashing", sum(stamps[name][0] for name in new)):
        for name in new:
            entries[name] = [*stamps[name], _sha256(files[name], meter)]
    # A file that changed just now could change again within the same tick of its time stamps.
    before = (time.time() - _SETTLED) * 1e9
    settled = {name: entry for name, entry in entries.items() if max(entry[1:3]) < before}
    if settled != known:
        with contextlib.suppress(OutputError):
            checked_json.write(memory, settled)
    size = sum(own[0] for own in stamps.values())
    return {name: entries[name][-1] for name in files}, size


def _sha256(file: Path, meter: Meter) -> str:
    """The hash of a file's content. Raises BadFileError."""
    digest = hashlib.sha256()
    for block in blocks(file, meter.add):
        digest.update(block)
    return digest.hexdigest()
