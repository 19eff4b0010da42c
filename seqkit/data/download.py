"""Data sets from the network: a file, or a folder in an archive, checked by its sha256."""

import hashlib
import shutil
import tarfile
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from seqkit.data.datasets import Folders, Located
from seqkit.foundation import disk
from seqkit.foundation.errors import DataError
from seqkit.foundation.machine import HangingError, call_with_timeout

ANSWER_SECONDS = 8.0
"""How long a download may take to begin, the look-up of the name included."""
_FAILURES = (OSError, HTTPException, ValueError, EOFError, tarfile.TarError, zlib.error)


@dataclass(frozen=True)
class Download:
    """A data set that is one public file, or a folder in a .tar.gz.

    file: its place in SEQKIT_DATA_DIR and in the cache.
    sha256: of its content; of a folder that of the listing, a line `<sha256>  <name>` for each file
        in the order of the names: archives are packed anew now and then.
    member: the folder in the archive, below the archive's only top folder.
    sample: a file that stands in when the download fails.
    validation, test: as in `Located`.
    """

    name: str
    file: str
    url: str
    sha256: str
    member: str = ""
    sample: Path | None = None
    validation: str = ""
    test: str = ""

    def locate(self, folders: Folders) -> Located:
        """The user's own folder, the cache, the network, and last the sample.

        Raises:
            DataError: the data are nowhere to be had.
            OutputError: the disk is full.
        """
        own = folders.data and folders.data / self.file
        path = own if own and own.exists() else folders.cache / "downloads" / self.file
        if not path.exists():
            try:
                self._fetch(path)
            except _FAILURES as error:
                failed = f"{self.name} cannot be downloaded ({error})"
                advice = f"give data.path=…, or SEQKIT_DATA_DIR with {self.file} in it"
                if self.sample is None or not folders.samples:
                    raise DataError(f"{failed}: {advice}") from error
                read = f"a small sample is read, {self.sample.name}"
                folders.notice(f"{failed}: {read}. For the real data {advice}.")
                return Located(self.sample, self.sample.name, stands_in=True)
        return Located(path, self.name, self.validation, self.test)

    def _fetch(self, path: Path) -> None:
        """Download to a path, whole or not at all. Raises OutputError, and one of `_FAILURES`."""
        import pooch

        pooch.get_logger().setLevel("ERROR")
        if not self.member:
            known = f"sha256:{self.sha256}"
            pooch.retrieve(self.url, known, path.name, path.parent, downloader=_download)
            return
        packed, aside = path.with_suffix(".tar.gz"), disk.half_of(path)
        try:
            pooch.retrieve(self.url, None, packed.name, packed.parent, downloader=_download)
            disk.make_folder(aside)
            self._unpack(packed, aside)
            disk.rename(aside, path)
        finally:
            disk.remove(packed)
            disk.discard(aside)

    def _unpack(self, packed: Path, folder: Path) -> None:
        """Write the files of the archive. Raises ValueError for others than are expected."""
        listing = dict[str, str]()
        with tarfile.open(packed, "r:gz") as archive:
            for entry in archive:
                # Only plain files of one folder, by their last name: nothing else can be written.
                above, _, name = entry.name.rpartition("/")
                content = archive.extractfile(entry) if entry.isfile() else None
                if content and name and above.partition("/")[2] == self.member:
                    read = content.read()
                    listing[name] = f"{hashlib.sha256(read).hexdigest()}  {name}\n"
                    with disk.create(folder / name) as stream:
                        stream.write(read)
        lines = "".join(listing[name] for name in sorted(listing))
        if hashlib.sha256(lines.encode()).hexdigest() != self.sha256:
            raise ValueError(f"{self.url} holds something else than expected (its sha256 differs)")


def _download(url: str, output_file: str, _: object) -> None:
    """Write what a URL gives to a file, if it answers within ANSWER_SECONDS.

    Raises OSError, OutputError.
    """
    try:
        answer = call_with_timeout(ANSWER_SECONDS, lambda: urlopen(url, timeout=ANSWER_SECONDS))
    except HangingError as error:
        raise TimeoutError(f"no answer within {ANSWER_SECONDS:g} s") from error
    except HTTPError as error:
        error.close()
        raise OSError(str(error)) from error
    with answer, disk.create(Path(output_file), overwrite=True) as stream:
        shutil.copyfileobj(answer, stream)


TINY_SHAKESPEARE = Download(
    name="tiny_shakespeare",
    file="tinyshakespeare/input.txt",
    url="https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
    sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    sample=Path(__file__).with_name("verse.txt"),
)
"""1.1 million characters of the plays, the field's first text to try (Karpathy, char-rnn, 2015)."""
SPOKEN_DIGITS = Download(
    name="spoken_digits",
    file="fsdd/recordings",
    url="https://github.com/Jakobovski/free-spoken-digit-dataset/archive/"
    "26eb9aaf76e81b692f806f9140c2d2777410d7a1.tar.gz",
    member="recordings",
    sha256="1801eae019c063377d98f831d3f93574f259475df7332bb0e3d1b080fb5e6959",
    test="*_[0-4].wav",  # the official one: DIGIT_SPEAKER_INDEX.wav with an index of 0 to 4
)
"""The Free Spoken Digit Dataset: 3000 clips, 22 minutes, six speakers, 8 kHz.

Jackson et al., doi:10.5281/zenodo.1342401, under CC BY-SA 4.0.
"""
