"""Downloads are looked for in the order of the contract, and checked."""

import hashlib
import io
import socket
import tarfile
import threading
from pathlib import Path

import pytest

from seqkit.data import download as downloads
from seqkit.data.datasets import Folders
from seqkit.data.download import TINY_SHAKESPEARE, Download
from seqkit.foundation.errors import DataError
from tests.data.stores import CONTENT, Site, files_in


def download(url: str) -> Download:
    return Download(
        "words",
        "w/words.txt",
        url,
        hashlib.sha256(CONTENT).hexdigest(),
        sample=TINY_SHAKESPEARE.sample,
    )


def test_a_download_is_kept_in_the_cache(
    served: Site, folders: Folders, notices: list[str]
) -> None:
    located = download(f"{served.url}/novel.txt").locate(folders)
    assert located.path.read_bytes() == CONTENT
    assert folders.cache in located.path.parents
    again = download("http://127.0.0.1:1/none").locate(folders)
    assert (again.path, notices) == (located.path, [])


def answer(server: socket.socket, reply: bytes) -> None:
    """Send these bytes to whoever asks first, and no more."""
    asking, _ = server.accept()
    with asking:
        asking.recv(1 << 16)
        asking.sendall(reply)


@pytest.mark.parametrize("fault", ["bad", "gone", "slow", "nameless", "broken", "chunked"])
def test_the_sample_stands_in_with_one_line(
    fault: str,
    served: Site,
    folders: Folders,
    notices: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(downloads, "ANSWER_SECONDS", 0.5)
    url, go_on = f"{served.url}/{fault}", threading.Event()
    served.files = {"/bad": CONTENT[:-3], "/broken": CONTENT}
    with socket.create_server(("127.0.0.1", 0)) as silent, monkeypatch.context() as patch:
        if fault == "broken":
            served.cut = 100
        if fault == "chunked":  # as GitHub sends archives; an error of HTTP, none of the system
            reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\nwords"
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            threading.Thread(target=answer, args=(silent, reply)).start()
        if fault == "slow":
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        if fault == "nameless":
            patch.setattr(socket, "getaddrinfo", lambda *_, **__: go_on.wait())
        located = download(url).locate(folders)
        go_on.set()
    assert located.name == "verse.txt"
    assert len(located.path.read_bytes()) > 60_000
    assert len(notices) == 1
    assert "data.path" in notices[0]
    assert "SEQKIT_DATA_DIR" in notices[0]
    assert not files_in(folders.cache)


def packed(names: dict[str, bytes]) -> bytes:
    """A .tar.gz as GitHub packs them: everything below one folder."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, data in names.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()


CLIPS = {"b.wav": b"two", "a.wav": b"one"}
LISTING = "".join(f"{hashlib.sha256(CLIPS[name]).hexdigest()}  {name}\n" for name in sorted(CLIPS))


def archive(place: Path, content: bytes) -> Download:
    """The clips, in an archive with this content."""
    (place / "clips.tar.gz").write_bytes(content)
    digest = hashlib.sha256(LISTING.encode()).hexdigest()
    url = (place / "clips.tar.gz").as_uri()
    return Download("clips", "c/recordings", url, digest, "recordings")


def test_an_archive_is_known_by_what_it_holds(folders: Folders, tmp_path: Path) -> None:
    inside = {f"repo-1/recordings/{name}": data for name, data in CLIPS.items()}
    outside = {"repo-1/README": b"more", "repo-1/../../evil.wav": b"evil", "/evil.wav": b"evil"}
    good = archive(tmp_path, packed({**outside, **inside}))
    place = good.locate(folders).path
    assert {file.name: file.read_bytes() for file in place.iterdir()} == CLIPS
    assert not list(tmp_path.rglob("evil.wav"))
    assert archive(tmp_path, b"").locate(folders).path == place


@pytest.mark.parametrize(
    "content", [b"no", packed({"r/recordings/a.wav": b"other"})], ids=["no archive", "another"]
)
def test_a_wrong_archive_leaves_nothing(content: bytes, folders: Folders, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"SEQKIT_DATA_DIR with c/recordings in it"):
        archive(tmp_path, content).locate(folders)
    assert not files_in(folders.cache)
