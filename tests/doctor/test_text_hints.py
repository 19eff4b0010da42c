"""Texts that were probably meant to be read otherwise are told about."""

import json
from pathlib import Path

import pytest

from seqkit.config import DataConfig
from seqkit.doctor import text_hints

ROWS = [{"id": str(number), "body": "some words, " * 3, "text": "tea"} for number in range(30)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
TABLE = 'id,"said by"\n' + '1,"a long, long text"\n' * 3


def told_of(file: Path, content: str, encoding: str = "utf-8", given: str = "utf-8") -> str:
    file.write_text(content, encoding)
    config = DataConfig(path=[str(file)], encoding=given)
    return "; ".join(text_hints.of([file], config))


@pytest.mark.parametrize(
    ("text", "encoding", "given", "told"),
    [
        ("café\n", "utf-8", "latin-1", "are UTF-8, not latin-1: give data.encoding=utf-8"),
        ("x" + "é" * 200_000, "utf-8", "cp1252", "are UTF-8, not cp1252"),  # cut in a character
        ("“café” …\n", "cp1252", "latin-1", "may be punctuation: give data.encoding=cp1252"),
        ("café\n", "latin-1", "latin-1", ""),
        ("tea\n", "utf-8", "latin-1", ""),
        ("café\n", "utf-8", "utf-8", ""),
    ],
)
def test_another_encoding_is_told_about(
    text: str, encoding: str, given: str, told: str, tmp_path: Path
) -> None:
    found = told_of(tmp_path / "a.txt", text, encoding, given)
    assert told in found
    assert bool(found) == bool(told)


@pytest.mark.parametrize(
    ("name", "content", "column"),
    [
        ("a.jsonl", LINES, "text"),
        ("a.json", LINES.replace("text", "no"), "body"),
        ("a.json", json.dumps(ROWS * 999, indent=2), "text"),  # more than is looked at
        ("a.json", "[not JSON]\n", ""),
        ("a.json", "[1, 2]\n", ""),
        ("a.csv", TABLE, "'said by'"),
        ("a.csv", "a poem,\nwith commas\n" * 9, ""),
        ("a.txt", LINES, ""),  # no table by its name
    ],
)
def test_tables_are_told_about(name: str, content: str, column: str, tmp_path: Path) -> None:
    found = told_of(tmp_path / name, content)
    keys = f"give data.kind=hf data.path={tmp_path / name} data.column={column}"
    assert found == (
        f"the data are tables: to learn the text of one column, {keys}" if column else ""
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{\\rtf1\\ansi some words}", "the data are RTF, whose markup is learnt, too"),
        ("\ufeff \n<!DOCTYPE html>\n<p>some words", "the data are HTML"),
        ("the tag <html> begins a page", ""),
    ],
)
def test_documents_with_markup_are_told_about(content: str, told: str, tmp_path: Path) -> None:
    assert told_of(tmp_path / "a.txt", content).startswith(told)


def test_a_table_among_texts_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINES)
    (tmp_path / "c.md").write_text("some text")
    config = DataConfig(path=[str(tmp_path)])
    assert not text_hints.of(sorted(tmp_path.iterdir()), config)
    assert not text_hints.of([], config)  # as of shards
