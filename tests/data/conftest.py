"""Where data sets look, and what they tell."""

from pathlib import Path

import pytest

from seqkit.data.datasets import Folders


@pytest.fixture
def notices() -> list[str]:
    """What `folders` was told."""
    return []


@pytest.fixture
def folders(tmp_path: Path, notices: list[str], monkeypatch: pytest.MonkeyPatch) -> Folders:
    """An empty folder of the user's and an empty cache."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("SEQKIT_DATA_DIR", str(tmp_path / "data"))
    return Folders(tmp_path / "cache", notices.append)
