"""What copies of data from elsewhere have in common: their place, and how failures are told."""

import contextlib
import errno
import hashlib
from collections.abc import Iterator
from pathlib import Path

from seqkit.foundation.errors import ConfigError, DataError, OutputError, SeqkitError


def copy_in(room: Path, origin: str, name: str) -> Path:
    """The place of a copy in a folder of the cache, called `name`, if a file may be."""
    key = hashlib.sha256(origin.encode()).hexdigest()[:32]
    return room.absolute() / key / (name if name.strip(".") and "\0" not in name else "data")


@contextlib.contextmanager
def failures_told(name: str, extra: str) -> Iterator[None]:
    """Tell in a line what a library that reads data elsewhere raises.

    Args:
        name: of the data.
        extra: of this package, which brings the library.

    Raises:
        ConfigError: the library is not installed.
        OutputError: the disk is full.
        DataError: the data cannot be read, in the library's own words.
    """
    try:
        yield
    except SeqkitError:
        raise
    except ImportError as error:
        raise ConfigError(
            f"{name}: needs more packages: pip install 'seqkit[{extra}]' ({error})"
        ) from error
    except Exception as error:  # each store, and each data set, raises its own
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(f"{name}: no room for its copy on the disk: {error}") from error
        cause = error.__cause__ or error  # fsspec turns every failure of HTTP into "not found"
        said = " ".join(f"{type(cause).__name__}: {cause}".split()).removesuffix(":")
        raise DataError(f"{name}: cannot be read: {said}") from error
