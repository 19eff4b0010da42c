"""Data are looked at a part at a time."""

import os
from pathlib import Path

import pytest

from seqkit.config import Config, DataConfig
from seqkit.data.load import load_corpus
from seqkit.data.shards.prepare import prepare
from seqkit.doctor import examine
from seqkit.foundation.console import unseen
from seqkit.foundation.plugins import Catalogue


def test_the_beginnings_of_many_documents_are_not_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        mark = "\ufeff" if number % 4 == 0 else ""
        (tmp_path / f"{number}.txt").write_text(mark + "x" * 100, encoding="utf-8")
    config = DataConfig(path=[str(tmp_path)], encoding="utf-8")
    corpus = load_corpus(config, catalogue=Catalogue(), notice=lambda text: None)
    assert len(corpus.whole.symbols[:1]) == 1  # their sha256 is compared now
    most, read = [], os.preadv

    def watched(file: int, into: list[memoryview], at: int) -> int:
        most.append(len(into[0]))
        return read(file, into, at)

    monkeypatch.setattr(os, "preadv", watched)
    monkeypatch.setattr(examine, "_BLOCK", 3)
    assert examine._marked(corpus.whole, corpus.codec, "utf-8-sig") == 10
    assert max(most) < 300


def test_texts_that_were_meant_otherwise_are_a_fault(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_text("café au lait\n" * 400, "latin-1")
    (tmp_path / "u.txt").write_text("café au lait\n" * 400)
    config = Config(data=DataConfig(path=[str(tmp_path)], encoding="latin-1"))
    corpus = load_corpus(config.data, catalogue=Catalogue(), notice=lambda text: None)
    faults = [*map(str, examine.examine(config, corpus, unseen).faults)]
    assert any("1 of 2 files" in told and "are UTF-8" in told for told in faults)


def test_what_was_prepared_is_to_be_prepared_again(tmp_path: Path) -> None:
    text = "".join(f"{chr(0x4E00 + number)} some words\r\n" for number in range(400))
    (tmp_path / "a.txt").write_bytes(text.encode())
    out = tmp_path / "shards"
    prepare(
        DataConfig(path=[str(tmp_path / "a.txt")]),
        out,
        catalogue=Catalogue(),
        notice=lambda text: None,
        processes=1,
    )
    for path, advised in ((tmp_path / "a.txt", "give"), (out, "prepare the data again with")):
        config = Config(data=DataConfig(path=[str(path)]))
        corpus = load_corpus(config.data, catalogue=Catalogue(), notice=lambda text: None)
        faults = [*map(str, examine.examine(config, corpus, unseen).faults)]
        for keys in ("data.newline=lf", "data.max_vocabulary=10 data.unknown=skip"):
            assert any(f": {advised} {keys}" in told for told in faults)
