"""Data sets from the network: one file, or a folder in an archive, each checked by its sha256."""

import hashlib
import io
import tarfile
import tempfile
import threading
import urllib.error
import urllib.request
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import IO

from seqkit import disk
from seqkit.data.datasets import Folders, Located
from seqkit.errors import DataError

ANSWER_SECONDS = 8.0
"""How long a download may take to begin, the look-up of the name included."""


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
            sample = resources.files("seqkit.data.datasets") / self.sample
            return Located(Path(str(sample)), self.sample)
        return Located(cached, self.name)

    def _fetch(self, target: Path) -> None:
        with _open(self.url) as response:
            content = response.read()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise ValueError(f"{self.url} gave a file of another sha256")
        with disk.atomic_write(target) as stream:
            stream.write(content)


@dataclass(frozen=True)
class Archive:
    """A folder in a public .tar.gz: its place in SEQKIT_DATA_DIR and the hash of its content.

    Archives are packed anew now and then, so it is what they hold that is checked: `sha256` is that
    of the listing, a line `<sha256>  <name>` for each file in the order of the names.
    """

    name: str
    folder: str
    url: str
    member: str
    sha256: str

    def locate(self, folders: Folders) -> Path:
        """The user's own folder, the cache, the network.

        Raises:
            DataError: the folder is nowhere to be had.
        """
        if folders.data and (kept := folders.data / self.folder).is_dir():
            return kept
        cached = folders.cache / "downloads" / self.folder
        if cached.is_dir():
            return cached
        try:
            self._fetch(cached, folders)
        except (
            *(OSError, ValueError, EOFError),
            *(HTTPException, tarfile.TarError, zlib.error),
        ) as error:
            if cached.is_dir():  # another process was first
                return cached
            raise DataError(
                f"{self.name} cannot be downloaded ({error}): put its files into {self.folder} "
                "of a folder named by SEQKIT_DATA_DIR, or give data.path=FOLDER"
            ) from error
        return cached

    def _fetch(self, target: Path, folders: Folders) -> None:
        folders.notice(f"downloading {self.name} from {self.url}")
        with _open(self.url) as response:
            content = io.BytesIO(response.read())
        files: dict[str, bytes] = {}
        with tarfile.open(fileobj=content, mode="r:gz") as archive:
            for entry in archive:
                # Only plain files of one folder, by their last name: nothing else can be written.
                folder, _, name = entry.name.rpartition("/")
                if folder.partition("/")[2] == self.member and entry.isfile() and name:
                    stream = archive.extractfile(entry)
                    files[name] = stream.read() if stream else b""
        listing = "".join(
            f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)
        )
        if hashlib.sha256(listing.encode()).hexdigest() != self.sha256:
            raise ValueError(f"{self.url} holds other files than expected")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as aside:
            whole = Path(aside) / "files"
            whole.mkdir()
            for name, data in files.items():
                (whole / name).write_bytes(data)
            whole.rename(target)


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
