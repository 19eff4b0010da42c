"""Datasets by name: each module here finds, downloads or makes the files of one dataset.

A dataset module has one function, `locate(folders) -> Located`. It is found by its name, so that
a new dataset is one module and one recipe (docs/datasets.md).
"""

import hashlib
import importlib
import os
import pkgutil
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import IO

from seqkit import paths
from seqkit.errors import ConfigError

ANSWER_SECONDS = 8.0
"""How long a download may take to begin, the look-up of the name included."""


@dataclass(frozen=True)
class Located:
    """Where a dataset's file or folder is, and what its data is called."""

    path: Path
    name: str


@dataclass(frozen=True)
class Folders:
    """Where datasets may look, and how they tell the user something."""

    cache: Path
    notice: Callable[[str], None]

    @property
    def data(self) -> Path | None:
        """The folder of data that the user keeps, from SEQKIT_DATA_DIR."""
        chosen = os.environ.get("SEQKIT_DATA_DIR")
        return Path(chosen) if chosen else None


@dataclass(frozen=True)
class Download:
    """One public file: its place in SEQKIT_DATA_DIR, its address and the hash of its content.

    `sample` is a file of this package that stands in when all else fails.
    """

    name: str
    file: str
    url: str
    sha256: str
    sample: str

    def locate(self, folders: Folders) -> Located:
        """The user's own folder, the cache, the network, and last the packaged sample."""
        if folders.data and (kept := folders.data / self.file).exists():
            return Located(kept, self.name)
        cached = folders.cache / "downloads" / self.file
        if cached.exists():
            return Located(cached, self.name)
        try:
            self._fetch(cached)
        except (OSError, ValueError, HTTPException) as error:
            folders.notice(
                f"{self.name} cannot be downloaded ({error}): training on the small sample that "
                "comes with seqkit. For real data give data.path=FILE, or SEQKIT_DATA_DIR with "
                f"{self.file} in it."
            )
            sample = resources.files("seqkit.datasets") / self.sample
            return Located(Path(str(sample)), self.sample)
        return Located(cached, self.name)

    def _fetch(self, target: Path) -> None:
        with _open(self.url) as response:
            content = response.read()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise ValueError(f"{self.url} gave a file of another sha256")
        with paths.atomic_write(target) as stream:
            stream.write(content)


class _Asked(threading.Thread):
    """One request; a name look-up or a server that hangs is left behind with its thread."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self._lock = threading.Lock()
        self._left = False
        self.response: IO[bytes] | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            response = urllib.request.urlopen(self._url, timeout=ANSWER_SECONDS)
        except urllib.error.HTTPError as error:
            error.close()
            self.error = error
        except Exception as error:
            self.error = error
        else:
            with self._lock:
                self.response = response
                if self._left:
                    response.close()

    def leave(self) -> None:
        """Close the answer, should it still come."""
        with self._lock:
            self._left = True
            if self.response:
                self.response.close()


def _open(url: str) -> IO[bytes]:
    """Open a URL, giving up after ANSWER_SECONDS in all. Raises OSError."""
    asked = _Asked(url)
    asked.start()
    asked.join(ANSWER_SECONDS)
    if asked.is_alive():
        asked.leave()
        raise TimeoutError(f"no answer within {ANSWER_SECONDS:g} s")
    if asked.response is None:
        raise OSError(str(asked.error)) from asked.error
    return asked.response


def names() -> list[str]:
    """The datasets that come with seqkit."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def locate(name: str, folders: Folders) -> Located:
    """Find the dataset `name`: a module of this package, or the dotted path of one's own module.

    Raises:
        ConfigError: there is no such module, or it has no function `locate`.
        DataError: the dataset cannot be had.
    """
    module = _module(name)
    function = getattr(module, "locate", None)
    if function is None:
        raise ConfigError(f"data.dataset={name}: the module has no function locate(folders)")
    located = function(folders)
    if not isinstance(located, Located):
        raise ConfigError(f"data.dataset={name}: locate(folders) returns no Located(path, name)")
    return located


def _module(name: str) -> ModuleType:
    path = name if "." in name else f"{__name__}.{name}"
    missing = ConfigError(
        f"data.dataset={name}: no such module; there are {', '.join(names())}, and your own "
        "by its dotted path"
    )
    if not all(part.isidentifier() for part in name.split(".")):
        raise missing
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise
        raise missing from error
