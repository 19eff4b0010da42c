"""Data sets are found by name."""

from pathlib import Path

import pytest

from seqkit.data import datasets, download
from seqkit.data.datasets import Folders, Located
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError, DataError


@pytest.mark.parametrize("name", ["nothing", "tiny shakespeare"])
def test_an_unknown_data_set_is_named(name: str, folders: Folders) -> None:
    with pytest.raises(ConfigError, match=rf"no data set named {name}.*tiny_shakespeare"):
        datasets.locate(name, Catalogue(), folders)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("a.wav", 0), ("b_valid.wav", 1), ("deep/b_valid.wav", 1), ("test/a.wav", 2),
        ("test/a_valid.wav", 2), ("a/test/x.wav", 0), ("valid.wav", 0),
    ],
)  # fmt: skip
def test_the_part_of_a_file_is_told_by_its_name(name: str, part: int) -> None:
    located = Located(Path(), "x", validation="*_valid.*", test="test/*")
    assert located.part_of(name) == part


def test_spoken_digits_are_looked_for_in_the_users_folder(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: object) -> None:
        raise TimeoutError("no answer")

    monkeypatch.setattr(download, "_download", offline)
    with pytest.raises(DataError, match="no answer"):
        datasets.locate("spoken_digits", Catalogue(), folders)
    assert folders.data is not None
    kept = folders.data / "fsdd" / "recordings"
    kept.mkdir(parents=True)
    located = datasets.locate("spoken_digits", Catalogue(), folders)
    assert located.path == kept
    names = ["0_george_0.wav", "9_theo_4.wav", "0_george_5.wav", "3_lucas_14.wav"]
    assert [located.part_of(name) for name in names] == [2, 2, 0, 0]
