"""Data sets are found by name."""

from fnmatch import fnmatch
from pathlib import Path

import pytest

from seqkit.data import datasets, download
from seqkit.data.datasets import Folders
from seqkit.errors import ConfigError, DataError


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    monkeypatch.setenv("SEQKIT_DATA_DIR", str(tmp_path / "data"))
    notices: list[str] = []
    return Folders(tmp_path / "cache", notices.append)


def test_a_module_of_ones_own_is_found_by_its_path(
    tmp_path: Path, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_pkg").mkdir()
    (tmp_path / "mine_pkg" / "letters.py").write_text(
        "from seqkit.data.datasets import Folders, Located\n"
        "def locate(folders):\n"
        "    path = folders.cache / 'letters.txt'\n"
        "    path.parent.mkdir(parents=True, exist_ok=True)\n"
        "    path.write_text('abc' * 100)\n"
        "    return Located(path, 'letters')\n"
    )
    (tmp_path / "mine_pkg" / "empty.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    located = datasets.locate("mine_pkg.letters", folders)
    assert (located.name, located.path.read_text()) == ("letters", "abc" * 100)
    with pytest.raises(ConfigError, match="no function locate"):
        datasets.locate("mine_pkg.empty", folders)


@pytest.mark.parametrize("name", ["nothing", "no.such.module", "tiny shakespeare"])
def test_an_unknown_dataset_is_named(name: str, folders: Folders) -> None:
    with pytest.raises(ConfigError, match=r"no such module; there are .*tiny_shakespeare"):
        datasets.locate(name, folders)


def test_spoken_digits_are_looked_for_in_the_users_folder(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(url: str) -> None:
        raise TimeoutError("no answer")

    monkeypatch.setattr(download, "_open", offline)
    with pytest.raises(DataError, match="no answer"):
        datasets.locate("spoken_digits", folders)
    assert folders.data is not None
    kept = folders.data / "fsdd" / "recordings"
    kept.mkdir(parents=True)
    located = datasets.locate("spoken_digits", folders)
    assert located.path == kept
    names = ["0_george_0.wav", "9_theo_4.wav", "0_george_5.wav", "3_lucas_14.wav"]
    assert [fnmatch(name, located.test) for name in names] == [True, True, False, False]
