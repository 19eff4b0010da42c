"""Which files are read as text or bytes, and by what kind of codec."""

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import codecs
from seqkit.data.codecs import Bytes, Characters, TextCodec
from seqkit.data.datasets import Located
from seqkit.data.file_search import Search
from seqkit.data.files import BadFileError, head, is_text
from seqkit.data.text_reading import check_encoding, check_plain
from seqkit.foundation.errors import DataError
from seqkit.foundation.plugins import Catalogue


def readable(
    config: DataConfig, located: Located, found: Mapping[str, Path], search: Search
) -> dict[str, Path]:
    """The files that hold something, and nothing but text if that is what is looked for.

    Errors are those of `load`; files that may be left out are noted in `search`.
    """
    check_encoding(config.encoding)
    files = {**found}
    if search.kind == "text":
        files = _plain(files, config.encoding, search)
    full = {name: file for name, file in files.items() if file.stat().st_size}
    if not full:
        raise DataError(f"{located}: the text is empty")
    if len(full) < len(files):
        search.left_out["empty"] += len(files) - len(full)
    return full


def _plain(files: dict[str, Path], encoding: str, search: Search) -> dict[str, Path]:
    """The files without those that are known to be something else than text.

    Raises:
        DataError: there is one, and it may not be left out; or no others are left.
    """
    kept = {}
    for name, file in files.items():
        try:
            check_plain(file, encoding)
        except BadFileError as error:
            if len(files) == 1:
                raise
            search.leave_out(error)
        else:
            kept[name] = file
    if not kept:
        raise search.errors[-1]
    return kept


def codec_kind(config: DataConfig, files: Iterable[Path], catalogue: Catalogue) -> type[TextCodec]:
    """The class of codecs for some files, as `config` asks for it, or by their content."""
    if config.codec != "auto":
        kind = codecs.find(config.codec, catalogue)
        assert issubclass(kind, TextCodec)
        return kind
    raw = config.kind == "bytes"
    if config.kind == "auto":
        raw = not any(_seems_text(file, config.encoding) for file in files)
    return Bytes if raw else Characters


def _seems_text(file: Path, encoding: str) -> bool:
    """Whether data.kind=auto takes a file for text: if it is in another encoding, that is told."""
    with contextlib.suppress(BadFileError):
        return is_text(head(file), encoding)
    return False
