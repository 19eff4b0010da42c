"""Data sets from the network: one file, or a folder in an archive, each checked by its sha256."""

import hashlib
import io
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from seqkit.data.datasets import Folders, Located
from seqkit.foundation import disk, half_written, locks
from seqkit.foundation.errors import DataError, OutputError
from seqkit.foundation.workers import HangingError, call_with_timeout

ANSWER_SECONDS = 8.0
"""How long a download may take to begin, the look-up of the name included."""
_FAILURES = (OSError, ValueError, EOFError, HTTPException, tarfile.TarError, zlib.error)


@dataclass(frozen=True)
class Download:
    """A data set that is one public file.

    file: its place in SEQKIT_DATA_DIR and in the cache.
    sha256: of its content.
    sample: a file that stands in when the download fails.
    licence, citation: as in `Located`.
    """

    name: str
    file: str
    url: str
    sha256: str
    sample: Path | None = None
    licence: str = ""
    citation: str = ""

    def locate(self, folders: Folders) -> Located:
        """The user's own folder, the cache, the network, and last the sample.

        Raises:
            DataError: the file is nowhere to be had.
        """
        path = _place(self.file, folders)
        if not path.exists():
            try:
                content = _download(self.url)
                _check(content, self.sha256, self.url)
            except _FAILURES as error:
                return self._stand_in(folders, error)
            with disk.atomic_write(path) as stream:
                stream.write(content)
        return Located(path, self.name, licence=self.licence, citation=self.citation)

    def _stand_in(self, folders: Folders, error: Exception) -> Located:
        failed = f"{self.name} cannot be downloaded ({error})"
        advice = f"give data.path=FILE, or SEQKIT_DATA_DIR with {self.file} in it"
        if self.sample is None or not folders.samples:
            raise DataError(f"{failed}: {advice}") from error
        folders.notice(
            f"{failed}: a small sample is read, {self.sample.name}. For the real data {advice}."
        )
        return Located(self.sample, self.sample.name, stands_in=True)


@dataclass(frozen=True)
class Archive:
    """A data set that is a folder in a public .tar.gz.

    folder: its place in SEQKIT_DATA_DIR and in the cache.
    member: the folder in the archive, below the archive's only top folder.
    sha256: of the listing, a line `<sha256>  <name>` for each file in the order of the names;
        archives are packed anew now and then, so it is what they hold that is checked.
    validation, test, licence, citation: as in `Located`.
    """

    name: str
    folder: str
    url: str
    member: str
    sha256: str
    validation: str = ""
    test: str = ""
    licence: str = ""
    citation: str = ""

    def locate(self, folders: Folders) -> Located:
        """The user's own folder, the cache, the network.

        Raises:
            DataError: the folder is nowhere to be had.
        """
        path = _place(self.folder, folders)
        if not path.exists():
            folders.notice(f"downloading {self.name} from {self.url}")
            try:
                files = self._unpacked(_download(self.url))
            except _FAILURES as error:
                raise DataError(
                    f"{self.name} cannot be downloaded ({error}): put its files into {self.folder} "
                    "of a folder named by SEQKIT_DATA_DIR, or give data.path=FOLDER"
                ) from error
            _write_folder(path, files)
        return Located(path, self.name, self.validation, self.test, self.licence, self.citation)

    def _unpacked(self, content: bytes) -> dict[str, bytes]:
        """The content of every file, by name."""
        files: dict[str, bytes] = {}
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            for entry in archive:
                # Only plain files of one folder, by their last name: nothing else can be written.
                folder, _, name = entry.name.rpartition("/")
                if folder.partition("/")[2] == self.member and entry.isfile() and name:
                    stream = archive.extractfile(entry)
                    files[name] = stream.read() if stream else b""
        listing = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)]
        _check("".join(listing).encode(), self.sha256, self.url)
        return files


def _place(name: str, folders: Folders) -> Path:
    """Where a data set lies: in the user's own folder, or else in the cache."""
    if folders.data and (path := folders.data / name).exists():
        return path
    return folders.cache / "downloads" / name


def _check(content: bytes, sha256: str, url: str) -> None:
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{url} holds something else than expected (its sha256 differs)")


def _write_folder(target: Path, files: Mapping[str, bytes]) -> None:
    """A folder with these files, whole or absent. Raises OutputError."""
    disk.clear_halves(target.parent.absolute())
    aside = half_written.name_for(target)
    disk.make_folder(aside)
    try:
        with locks.opened(aside) as handle:
            half_written.hold(handle)
            for name, content in files.items():
                with disk.create(aside / name) as stream:
                    stream.write(content)
            disk.rename(aside, target)
    except OutputError:
        if not target.is_dir():  # else another process was first
            raise
    finally:
        disk.remove_folder(aside)


def _download(url: str) -> bytes:
    """What a URL gives, if it answers within ANSWER_SECONDS in all.

    Raises OSError, ValueError, HTTPException.
    """
    try:
        answer = call_with_timeout(
            ANSWER_SECONDS, lambda: urllib.request.urlopen(url, timeout=ANSWER_SECONDS)
        )
        with answer as response:
            content: bytes = response.read()
            return content
    except HangingError as error:
        raise TimeoutError(f"no answer within {ANSWER_SECONDS:g} s") from error
    except urllib.error.HTTPError as error:
        error.close()
        raise OSError(str(error)) from error
