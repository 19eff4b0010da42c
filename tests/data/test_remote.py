"""Data at a URL are read from copies in the cache, whole and where they belong."""

import json
import threading
import time
from pathlib import Path

import fsspec
import pytest

from seqkit.config import DataConfig
from seqkit.data import elsewhere
from seqkit.foundation.errors import DataError
from tests.data.stores import CONTENT, Site, files_in


def fetch(url: str, cache: Path, told: list[str] | None = None) -> Path:
    said = [] if told is None else told
    (path,) = elsewhere.fetch(DataConfig(path=[url]), cache, said.append).path
    return Path(path)


def test_a_page_is_fetched_once_and_again_after_a_week(served: Site, tmp_path: Path) -> None:
    url, told = f"{served.url}/novel.txt", list[str]()
    path = fetch(url, tmp_path, told=told)
    assert (path.name, path.read_bytes()) == ("novel.txt", CONTENT)
    assert told == [f"{url}: read from its copy, {path}"]
    assert fetch(url, tmp_path) == path
    assert served.got == ["/novel.txt"]
    served.files["/novel.txt"] = CONTENT[::-1]
    (known,) = tmp_path.glob("remote/*/cache")
    known.write_text(aged(known))
    assert fetch(url, tmp_path).read_bytes() == CONTENT[::-1]


def aged(known: Path) -> str:
    """What fsspec knows of its copies, as if it was eight days ago."""
    entries = json.loads(known.read_text())
    for entry in entries.values():
        entry["time"] = time.time() - 8 * 86400
    return json.dumps(entries)


def test_files_and_folders_of_a_store_are_kept_up_to_date(tmp_path: Path) -> None:
    folder, cache = tmp_path / "corpus", tmp_path / "cache"
    for name in ("a.txt", "deep/b.txt", ".hidden/d.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)

    def copied() -> dict[str, str]:
        copy = fetch(f"file://{folder}", cache)
        assert copy.name == "corpus"
        return {str(path.relative_to(copy)): path.read_text() for path in files_in(copy)}

    assert copied() == {name: name for name in ("a.txt", "deep/b.txt")}
    (folder / "a.txt").unlink()
    (folder / "deep/b.txt").write_text("another")
    assert copied() == {"deep/b.txt": "another"}
    assert fetch(f"file://{folder}/deep/b.txt", cache).read_text() == "another"
    (folder / "deep/b.txt").write_text("a third")
    assert fetch(f"file://{folder}/deep/b.txt", cache).read_text() == "a third"
    (folder / "deep/b.txt").unlink()
    with pytest.raises(DataError, match="corpus: the folder holds no file"):
        copied()


def test_names_of_a_store_and_of_a_url_lead_nowhere_else(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    for name in ("/bucket/ok.txt", "/bucket/a/../../../out.txt", "/bucket/.hidden"):
        memory.store[name] = fsspec.implementations.memory.MemoryFile(memory, name, b"x")
    copy = fetch("memory://bucket", tmp_path / "cache")
    assert [path.name for path in files_in(copy)] == ["ok.txt"]
    assert not [*tmp_path.rglob("out.txt")]
    for url in ("memory://bucket/..", "http://x/%00", "s3://"):
        assert elsewhere.copy_of_url(url, tmp_path).name == "data"


@pytest.mark.parametrize("stalls", [False, True])
def test_what_did_not_come_whole_is_no_copy(
    stalls: bool, served: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, go_on = f"{served.url}/novel.txt", threading.Event()
    served.cut = 1000
    if stalls:
        served.during = go_on.wait
        monkeypatch.setattr(elsewhere, "_TIMEOUT", 0.5)
    with pytest.raises(DataError, match=f"{url}: cannot be read: "):
        fetch(url, tmp_path)
    go_on.set()
    served.cut, served.during = None, lambda: None
    assert fetch(url, tmp_path).read_bytes() == CONTENT
