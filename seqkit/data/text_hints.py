"""Texts that can be read, and were probably meant to be read otherwise."""

import codecs
from collections.abc import Collection
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data.bad_files import BadFileError
from seqkit.data.files import blocks

_LOOKED_AT = 1 << 18  # bytes at the beginning of each file


def of(files: Collection[Path], config: DataConfig) -> list[str]:
    """What there is to say of these files, in a line each, by how they begin."""
    return [line for line in [_as_utf8(files, config)] if line]


def _as_utf8(files: Collection[Path], config: DataConfig) -> str:
    """Where another encoding is asked for, how many files are in UTF-8.

    Any bytes are text in Latin-1, so that nothing else would tell.
    """
    if config.of_rows or codecs.lookup(config.encoding).name.startswith("utf"):
        return ""
    found = [file for file in files if _is_utf8(file)]
    if not found:
        return ""
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    shown = f"{len(found)} of {len(files)} files" if len(files) > 1 else "the file"
    advice = "give data.encoding=utf-8"
    if len(found) < len(files):
        advice = "data.encoding=utf-8 data.on_bad_file=skip reads only such files"
    return (
        f"{shown} ({found[0]}{more}) can be read as UTF-8, too, and would then have other "
        f"characters than with data.encoding={config.encoding}: {advice}"
    )


def _is_utf8(file: Path) -> bool:
    """Whether a file begins with UTF-8 that is more than ASCII; a bounded part of it is read."""
    try:
        begin = b"".join(blocks(file, end=_LOOKED_AT))
        decoder = codecs.getincrementaldecoder("utf-8")()  # the end may cut a character
        return not begin.isascii() and not decoder.decode(begin).isascii()
    except (BadFileError, UnicodeDecodeError):
        return False
