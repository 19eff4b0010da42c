"""Data that a checkpoint names by path is read only as it was recorded."""

import os
from pathlib import Path

import pytest

from seqkit.data.codecs import Bytes
from tests.data.conftest import WORDS
from tests.data.test_load import load, problem

pytestmark = pytest.mark.usefixtures("cache")


def test_a_recorded_file_is_opened_only_as_it_was(text: Path) -> None:
    corpus = load(text)
    codec, record = corpus.codec, corpus.record()
    assert record["bytes"] == len(WORDS) * 5
    assert problem([text], codec, record) is None
    said = problem([text], codec, {"sha256": record["sha256"]})
    assert said == f"the checkpoint does not say how large {text} was"
    pipe = text.with_name("pipe")
    os.mkfifo(pipe)
    for place in (pipe, Path("/dev/zero")):
        said = problem([place], codec, record)
        assert said == f"{place} is neither a file nor a folder"
    missing = problem([Path("/no/such")], codec, record)
    assert "cannot be read: no such" in str(missing)
    assert "cannot be read" in str(problem([Path("a\0b")], codec, record))
    empty = text.with_name("empty")
    empty.touch()
    assert "is empty" in str(problem([empty], codec, {"bytes": 0}))
    text.write_text("x" * (len(WORDS) * 5 + 1))
    assert "does not have the 120 bytes" in str(problem([text], codec, record))


def test_a_recorded_source_tree_is_opened_only_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    for name, content in {"a.c": b"int a;\n", "b.py": b"b = 1\n", "c.o": b"\x7fELF\0"}.items():
        (folder / name).write_bytes(content)
    corpus = load(folder)
    codec, record = corpus.codec, corpus.record()
    (folder / "d.o").write_bytes(b"\0" * 100)
    (folder / ".d").write_text("hidden")
    assert problem([folder], codec, record) is None
    (folder / "d.c").write_text("more")
    assert "does not have the 13 bytes" in str(problem([folder], codec, record))


def test_a_recorded_folder_is_opened_only_as_it_was(sound: Path) -> None:
    corpus = load(sound)
    codec, record = corpus.codec, corpus.record()
    (sound / "notes.txt").write_text("not sound")
    assert problem([sound], codec, record) is None
    assert "does not have" in str(problem([sound], Bytes(), record))
    (sound / "more.wav").write_bytes(b"RIFF")
    assert "does not have" in str(problem([sound], codec, record))
