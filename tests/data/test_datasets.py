"""Data sets are found by name."""

import pytest

from seqkit.data import download
from seqkit.data.datasets import Folders
from seqkit.foundation.errors import DataError


def test_spoken_digits_are_looked_for_in_the_users_folder(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: object) -> None:
        raise TimeoutError("no answer")

    monkeypatch.setattr(download, "_download", offline)
    with pytest.raises(DataError, match="no answer"):
        download.SPOKEN_DIGITS.locate(folders)
    assert folders.data is not None
    kept = folders.data / "fsdd" / "recordings"
    kept.mkdir(parents=True)
    located = download.SPOKEN_DIGITS.locate(folders)
    assert located.path == kept
    names = ["0_george_0.wav", "9_theo_4.wav", "0_george_5.wav", "3_lucas_14.wav"]
    assert [located.part_of(name) for name in names] == [2, 2, 0, 0]
