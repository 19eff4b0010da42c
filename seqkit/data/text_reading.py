"""Files of text, read in blocks and decoded; what is no text is named with its place."""

import codecs
from collections.abc import Iterator
from pathlib import Path

from seqkit.data import corpus_cache
from seqkit.data.bad_files import BadFileError
from seqkit.errors import ConfigError


def check_encoding(encoding: str) -> None:
    """Raise ConfigError for an encoding that does not exist."""
    try:
        info = codecs.lookup(encoding)
    except (LookupError, ValueError):
        info = None
    if info is None or not getattr(info, "_is_text_encoding", True):
        raise ConfigError(
            f"data.encoding={encoding}: no such text encoding; utf-8 and latin-1 are two"
        )


def text_blocks(file: Path, encoding: str) -> Iterator[str]:
    """The text of a file, some megabytes at a time. Raises BadFileError."""
    decoder = codecs.getincrementaldecoder(encoding)()
    read = 0
    try:
        for block in corpus_cache.blocks(file):
            read += len(block)
            yield decoder.decode(block)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        # error.object is what the decoder had kept and the newest block: it ends where we read to.
        offset = read - len(error.object) + error.start
        raise BadFileError(
            file,
            f"byte {offset} (0x{error.object[error.start]:02x}) is not {encoding}",
            "name the encoding with data.encoding, or read any file with data.kind=bytes",
        ) from error
    except UnicodeError as error:
        hint = "name the encoding with data.encoding"
        raise BadFileError(file, f"not {encoding} ({error})", hint) from error


def check_text(file: Path, encoding: str) -> None:
    """Raise BadFileError unless the whole of a file can be read as text."""
    for _ in text_blocks(file, encoding):
        pass


def is_text(file: Path, encoding: str) -> bool:
    """Whether the whole of a file can be read as text."""
    try:
        check_text(file, encoding)
    except BadFileError:
        return False
    return True
