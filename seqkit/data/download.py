"""Data sets from the network: one file, or a folder in an archive, each checked by its sha256."""

import hashlib
import io
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from seqkit.data.datasets import Folders, Located
from seqkit.foundation import disk, temporary_files
from seqkit.foundation.errors import DataError, OutputError
from seqkit.foundation.timeout import HangingError, within

ANSWER_SECONDS = 8.0
"""How long a download may take to begin, the look-up of the name included."""
_BLOCK = 1 << 16  # bytes


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
        places = [folders.cache / "downloads" / self.file]
        if folders.data:
            places.insert(0, folders.data / self.file)
        path = next((place for place in places if place.exists()), places[-1])
        if not path.exists():
            try:
                self._fetch(path, folders)
            except (OSError, ValueError, HTTPException) as error:
                return self._stand_in(folders, error)
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

    def _fetch(self, target: Path, folders: Folders) -> None:
        content = _download(self.url, self.name, folders)
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise ValueError(f"{self.url} gave a file of another sha256")
        with disk.atomic_write(target) as stream:
            stream.write(content)


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
        return Located(
            self._find(folders),
            self.name,
            validation=self.validation,
            test=self.test,
            licence=self.licence,
            citation=self.citation,
        )

    def _find(self, folders: Folders) -> Path:
        if folders.data and (kept := folders.data / self.folder).is_dir():
            return kept
        cached = folders.cache / "downloads" / self.folder
        if cached.is_dir():
            return cached
        folders.notice(f"downloading {self.name} from {self.url}")
        try:
            files = self._fetch(folders)
        except (
            *(OSError, ValueError, EOFError),
            *(HTTPException, tarfile.TarError, zlib.error),
        ) as error:
            raise DataError(
                f"{self.name} cannot be downloaded ({error}): put its files into {self.folder} "
                "of a folder named by SEQKIT_DATA_DIR, or give data.path=FOLDER"
            ) from error
        _write_folder(cached, files)
        return cached

    def _fetch(self, folders: Folders) -> dict[str, bytes]:
        """The content of every file, by name."""
        content = io.BytesIO(_download(self.url, self.name, folders))
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
        return files


def _write_folder(target: Path, files: Mapping[str, bytes]) -> None:
    """A folder with these files, whole or absent. Raises OutputError."""
    disk.clear_halves(target.parent.absolute())
    aside = temporary_files.name_for(target)
    disk.make_folder(aside, new=True)
    try:
        with temporary_files.folder_held(aside):
            for name, content in files.items():
                with disk.create(aside / name) as stream:
                    stream.write(content)
            disk.rename(aside, target)
    except OutputError:
        if not target.is_dir():  # else another process was first
            raise
    finally:
        disk.remove_folder(aside)


def _download(url: str, name: str, folders: Folders) -> bytes:
    """What a URL gives. Raises OSError, ValueError, HTTPException."""
    content = io.BytesIO()
    with _open(url) as response:
        size = int(response.headers.get("Content-Length") or 0)
        with folders.progress(f"downloading {name}", size, unit="MB") as bar:
            while block := response.read(_BLOCK):
                content.write(block)
                bar.update(content.tell(), total=max(size, content.tell()))
    if content.tell() < size:
        raise OSError(f"{size} bytes were promised, {content.tell()} came")
    return content.getvalue()


def _open(url: str) -> HTTPResponse:
    """Open a URL, giving up after ANSWER_SECONDS in all. Raises OSError."""
    try:
        return within(ANSWER_SECONDS, lambda: urllib.request.urlopen(url, timeout=ANSWER_SECONDS))  # type: ignore[no-any-return]
    except HangingError as error:
        raise TimeoutError(f"no answer within {ANSWER_SECONDS:g} s") from error
    except urllib.error.HTTPError as error:
        error.close()
        raise OSError(str(error)) from error
