"""Files in the stores that fsspec knows (s3://, gs://, hf://, http://), listed and read.

Whatever a store does is done in a thread that is left behind when it hangs.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from seqkit.foundation.errors import ConfigError, DataError, SeqkitError
from seqkit.foundation.timeout import HangingError, within

PATIENCE = 30.0
"""Seconds that a store may take for the next bytes, or for a listing."""
_BLOCK = 1 << 22  # bytes; a slow line has to bring them within PATIENCE
_STAMPS = (
    *("size", "etag", "ETag", "Content-MD5", "Digest", "md5Hash", "crc32c", "generation"),
    *("VersionId", "version_id", "blob_id", "xet_hash", "sha", "content_hash", "ino"),
    *("mtime", "created", "updated", "last_modified", "LastModified", "Last-Modified"),
)  # what stores call that which changes with a file's content; `ukey` of HTTP is the URL alone
_AGAIN = "give the same command again; files that came whole are kept"
T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """A file of a store.

    name: its path within the folder that was asked for; empty if it is what was asked for.
    place: what the store calls it.
    size: in bytes; None if the store does not say.
    stamp: what the store says that changes with its content.
    """

    name: str
    place: str
    size: int | None
    stamp: dict[str, str]

    @property
    def tells_changes(self) -> bool:
        """Whether the stamp has more than the size."""
        return bool(self.stamp.keys() - {"size"})


class Store:
    """What a URL names: a file, or a folder."""

    def __init__(self, url: str) -> None:
        """Find what reads such URLs, and the credentials.

        Raises:
            ConfigError: that is not known, or not installed.
            DataError: the credentials cannot be had.
        """
        self._url = url
        self._system, self._root = _ask(url, lambda: _found(url))

    def files(self) -> list[Entry]:
        """The file, or all files in the folder, as they are now.

        Raises:
            DataError: there is none, or the store cannot be asked.
        """
        if self._url.partition("?")[0].endswith("/") and self._url.startswith("http"):
            raise DataError(f"{self._url}: HTTP cannot list a folder: give the URL of each file")
        self._system.invalidate_cache()
        info = _ask(self._url, lambda: self._system.info(self._root))
        if info.get("type") != "directory":
            return [_entry("", info)]
        found = _ask(self._url, lambda: self._system.find(self._root, detail=True))
        folder = str(info["name"]).rstrip("/") + "/"
        return [_entry(place.removeprefix(folder), one) for place, one in sorted(found.items())]

    def blocks(self, entry: Entry) -> Iterator[bytes]:
        """The content of a file.

        Raises:
            DataError: it cannot be read, or is not as long as the store said.
        """
        file = f"{self._url.rstrip('/')}/{entry.name}" if entry.name else self._url
        read, of = 0, "" if entry.size is None else f" of {entry.size:,}"
        # Without blocks of its own, HTTP sends the file in one go, and other stores what is asked.
        stream = _ask(file, lambda: self._system.open(entry.place, "rb", block_size=0))
        try:
            while block := _ask(file, lambda: stream.read(_BLOCK), f" after {read:,}{of} bytes"):
                read += len(block)
                yield block
        finally:
            threading.Thread(target=stream.close, daemon=True).start()  # which may hang, too
        if entry.size not in (None, read):
            raise DataError(f"{file}: came to its end after {read:,}{of} bytes: {_AGAIN}")


def asked(call: Callable[[], T], patience: float, explain: Callable[[Exception | None], str]) -> T:
    """What a call of somebody else's code returns, in so many seconds.

    It is made in a thread that is left behind if it hangs.

    Raises:
        DataError: it failed, as `explain` says of its exception, or of None where it hangs.
        SeqkitError: as the call does.
    """
    try:
        return within(patience, call)
    except HangingError as error:
        raise DataError(explain(None)) from error
    except SeqkitError:
        raise
    except Exception as error:  # each store, and each data set, raises its own
        raise DataError(explain(error)) from error


def _ask(url: str, call: Callable[[], T], when: str = "") -> T:
    """What a call of a store returns; raises as `asked`."""

    def explain(error: Exception | None) -> str:
        if error is None:
            return f"{url}: nothing came for {PATIENCE:g} s{when}: {_AGAIN}"
        what, advice = _explained(error)
        return f"{url}: {what}{when}: {advice}"

    return asked(call, PATIENCE, explain)


def _found(url: str) -> tuple[Any, str]:
    """The file system of a URL, and what it calls the place. Raises ConfigError."""
    try:
        from fsspec.core import url_to_fs

        system, place = url_to_fs(url, **_options(url))
    except ImportError as error:
        raise ConfigError(
            f"data.path={url} needs more packages: pip install 'seqkit[remote]' ({error})"
        ) from error
    except ValueError as error:
        raise ConfigError(f"data.path={url}: {error}") from error
    return system, str(place)


def _options(url: str) -> dict[str, Any]:
    """What the file systems in a URL are made with. Raises ImportError."""
    names = [name for name in ("http", "https") if f"{name}://" in url]
    if not names:
        return {}
    from aiohttp import ClientTimeout

    # By default a file would have to come within five minutes, and a proxy would be passed over.
    client = {"timeout": ClientTimeout(total=None), "trust_env": True}
    return {name: {"client_kwargs": client} for name in names}


def _entry(name: str, info: dict[str, Any]) -> Entry:
    stamp = {key: str(info[key]) for key in _STAMPS if info.get(key) is not None}
    return Entry(name, str(info["name"]), info.get("size"), stamp)


def _explained(error: Exception) -> tuple[str, str]:
    """What went wrong in a few words, and what to do."""
    cause = error.__cause__ or error  # fsspec says of every failure of HTTP that no file was found
    status = getattr(cause, "status", None)
    if status == 404 or (isinstance(cause, FileNotFoundError) and status is None):
        return "no such file, folder or bucket", "check the URL"
    if status in (401, 403) or isinstance(cause, PermissionError):
        return "access is denied", "give the store's credentials, as its own programs take them"
    said = " ".join(f"{type(cause).__name__}: {cause}".split()).removesuffix(":")
    return f"cannot be read ({said})", _AGAIN
