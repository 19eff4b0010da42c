"""Data at a URL is copied into the cache: whole or not at all, and only once."""

import sys
import threading
from pathlib import Path

import fsspec
import pytest

from seqkit.config import DataConfig
from seqkit.data import remote, url_cache
from seqkit.foundation.errors import ConfigError, DataError, OutputError
from tests.conftest import fill_disk
from tests.data.replacing import moved
from tests.data.stores import CONTENT, Site, files_in


def fetch(url: str, cache: Path, pattern: str = "", told: list[str] | None = None) -> Path:
    said = [] if told is None else told
    (path,) = remote.fetch(DataConfig(path=[url], pattern=pattern), cache, said.append).path
    return Path(path)


def test_a_file_is_fetched_once_and_again_when_it_changed(served: Site, tmp_path: Path) -> None:
    url, told = f"{served.url}/novel.txt", list[str]()
    path = fetch(url, tmp_path, told=told)
    assert (path.name, path.read_bytes()) == ("novel.txt", CONTENT)
    assert told == [f"{url}: fetching 1 file, 0.0 MB", f"{url}: read from its copy, {path}"]
    assert fetch(url, tmp_path) == path
    assert served.got == ["/novel.txt"]
    served.files["/novel.txt"] = CONTENT[::-1]  # as long as before
    assert fetch(url, tmp_path).read_bytes() == CONTENT[::-1]
    path.write_bytes(b"altered in the cache")
    assert fetch(url, tmp_path).read_bytes() == CONTENT[::-1]
    assert len(served.got) == 3
    cache = moved(tmp_path)  # as to another machine
    assert fetch(url, cache).is_relative_to(cache)
    assert len(served.got) == 3


@pytest.mark.parametrize("tagged", [True, False])
def test_an_address_that_leads_to_signed_ones_is_read_and_known_again(
    tagged: bool, served: Site, tmp_path: Path
) -> None:
    served.signed, served.tagged = True, tagged
    url = f"{served.url}/novel.txt"
    for content in (CONTENT, CONTENT[:100]):
        served.files["/novel.txt"] = content
        for _ in range(2):
            assert fetch(url, tmp_path).read_bytes() == content
    assert served.got == ["/novel.txt"] * 2


def test_of_a_folder_what_matches_is_copied_and_kept_up_to_date(tmp_path: Path) -> None:
    folder, cache = tmp_path / "corpus", tmp_path / "cache"
    for name in ("a.txt", "deep/b.txt", "deep/c.c", ".hidden/d.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)

    def copied(pattern: str = "") -> list[str]:
        copy = fetch(f"file://{folder}", cache, pattern)
        assert copy.name == "corpus"
        return sorted(str(path.relative_to(copy)) for path in files_in(copy))

    assert copied("*.txt") == ["a.txt", "deep/b.txt"]
    assert copied() == ["a.txt", "deep/b.txt", "deep/c.c"]
    (folder / "a.txt").unlink()
    assert copied() == ["deep/b.txt", "deep/c.c"]
    with pytest.raises(DataError, match=r"the folder holds no file that matches \*\.wav"):
        copied("*.wav")


def test_what_came_whole_is_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, cache = tmp_path / "corpus", tmp_path / "cache"
    folder.mkdir()
    (folder / "a.txt").write_text("first")
    (folder / "b.txt").write_text("second" * 1000)
    with monkeypatch.context() as patch:
        fill_disk(patch, 100, "*b.txt*")
        with pytest.raises(OutputError, match=r"cannot write .*b\.txt: no space left on device"):
            fetch(f"file://{folder}", cache)
    (first,) = cache.rglob("*.txt")
    before = first.stat()
    told: list[str] = []
    copy = fetch(f"file://{folder}", cache, told=told)
    assert told[0] == f"file://{folder}: fetching 1 file, 0.0 MB"
    assert (copy / "a.txt").stat() == before
    assert (copy / "b.txt").read_text() == "second" * 1000


def test_names_of_a_store_lead_nowhere_else(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    for name in ("/bucket/ok.txt", "/bucket//twice.txt", "/bucket/a/../../../out.txt"):
        memory.store[name] = fsspec.implementations.memory.MemoryFile(memory, name, b"x")
    copy = fetch("memory://bucket", tmp_path / "cache")
    assert {path.name for path in files_in(copy)} == {"ok.txt", "twice.txt"}
    assert not [*tmp_path.rglob("out.txt")]
    for url in ("memory://bucket/..", "http://x/%00", "s3://"):
        assert url_cache.copy_of(url, DataConfig(), tmp_path).path.name == "data"


@pytest.mark.parametrize("cut", [0, 1000])
def test_a_source_that_ends_early_leaves_nothing(served: Site, tmp_path: Path, cut: int) -> None:
    served.cut = cut
    with pytest.raises(
        DataError, match=r"novel\.txt: cannot be read after 1?,?0+ of 2,000 bytes: C"
    ):
        fetch(f"{served.url}/novel.txt", tmp_path)
    assert not files_in(tmp_path)


def test_a_source_that_stalls_is_given_up(
    served: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    served.cut, served.during = 1000, go_on.wait
    monkeypatch.setattr(url_cache, "TIMEOUT", 0.5)
    with pytest.raises(DataError, match=r"nothing came for 0\.5 s after 1,000 of 2,000 bytes"):
        fetch(f"{served.url}/novel.txt", tmp_path)
    go_on.set()
    assert not files_in(tmp_path)


def test_a_source_that_changes_meanwhile_is_refused(served: Site, tmp_path: Path) -> None:
    served.during = lambda: served.files.update({"/novel.txt": CONTENT[::-1]})
    url = f"{served.url}/novel.txt"
    with pytest.raises(DataError, match=r"novel\.txt: changed while it was fetched: give the same"):
        fetch(url, tmp_path)
    assert fetch(url, tmp_path).read_bytes() == CONTENT[::-1]


def test_what_is_not_there_or_not_allowed_is_said(served: Site, tmp_path: Path) -> None:
    for url in (f"{served.url}/none", f"file://{tmp_path}/none", "memory://no/bucket"):
        with pytest.raises(DataError, match=f"^{url}: cannot be read: "):
            fetch(url, tmp_path)
    with pytest.raises(DataError, match="HTTP cannot list a folder"):
        fetch(f"{served.url}/folder/", tmp_path)
    served.status = 403
    with pytest.raises(DataError, match="cannot be read: ClientResponseError: 403"):
        fetch(f"{served.url}/novel.txt", tmp_path)
    served.status = 500
    with pytest.raises(DataError, match=r"cannot be read: ClientResponseError: 500"):
        fetch(f"{served.url}/novel.txt", tmp_path)
    assert not files_in(tmp_path)


def test_what_is_to_be_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, url in (("aiohttp", "https://x/a.txt"), ("s3fs", "s3://x/a"), ("fsspec", "gs://x")):
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.delitem(sys.modules, f"{module}.core", raising=False)
        with pytest.raises(ConfigError, match=r"more packages: pip install 'seqkit\[remote\]"):
            fetch(url, tmp_path)
        monkeypatch.undo()
    with pytest.raises(ConfigError, match=r"foo://x: Protocol not known: foo"):
        fetch("foo://x", tmp_path)
