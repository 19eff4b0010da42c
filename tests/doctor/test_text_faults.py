"""What is wrong with a text is told, and what was probably meant to be read otherwise."""

import json
from pathlib import Path

import numpy as np
import pytest

from seqkit.config import DataConfig
from seqkit.data.codecs import Bytes
from seqkit.data.corpus import Part
from seqkit.doctor import text, text_faults
from tests.doctor.test_text import facts

ROWS = [{"id": str(number), "body": "some words, " * 3, "text": "tea"} for number in range(30)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
TABLE = 'id,"said by"\n' + '1,"a long, long text"\n' * 3


def faults(content: str) -> str:
    return "\n".join(map(str, text_faults.faults(facts(content), "text")))


def told_of(file: Path, content: str, encoding: str = "utf-8", given: str = "utf-8") -> str:
    file.write_text(content, encoding)
    config = DataConfig(path=[str(file)], encoding=given)
    return "; ".join(map(str, text_faults.file_faults([file], config)))


def test_what_is_no_text_is_not_called_one() -> None:
    content = bytes(range(128)) * 20 + b"\r" * 100
    found = text.facts(Part.of(Bytes().encode(content)), Bytes(), lambda done: None)
    told = "\n".join(map(str, text_faults.faults(found, "bytes")))
    assert "the content is short" in told
    assert "copies in the content" in told
    assert "text" not in told
    assert "line" not in told


def test_every_fault_is_told() -> None:
    rng = np.random.default_rng(0)
    good = "\n".join("".join(rng.choice(list("abcdefgh "), 60)) for _ in range(1000))
    assert faults(good) == ""
    assert "100 line ends have a CR" in faults("a line\r\n" * 100)
    assert "odd character" not in faults("a line\r\n" * 100)
    assert "one symbol" in faults("aaaa")
    assert "the text is short, 600 symbols" in faults(good[:600])
    assert "50% of the passages" in faults(good + good)
    odd = "1 odd character, 1 in all, such as U+0007 BEL (control character, 1): take them out"
    assert odd in faults(good + "\x07")
    assert "in another encoding than data.encoding" in faults(good + "\x93")
    assert "symbols occur fewer than 10 times" in faults(good + "".join(map(chr, range(300, 400))))
    assert "the longest line" in faults(good.replace("\n", " "))


@pytest.mark.parametrize(
    ("text", "encoding", "given", "told"),
    [
        ("café\n", "utf-8", "latin-1", "are UTF-8, not latin-1: give data.encoding=utf-8"),
        ("x" + "é" * 200_000, "utf-8", "cp1252", "are UTF-8, not cp1252"),  # cut in a character
        ("café\n", "latin-1", "latin-1", ""),
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
    ],
)
def test_documents_with_markup_are_told_about(content: str, told: str, tmp_path: Path) -> None:
    assert told_of(tmp_path / "a.txt", content).startswith(told)


def test_a_table_among_texts_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINES)
    (tmp_path / "c.md").write_text("some text")
    config = DataConfig(path=[str(tmp_path)])
    assert not [*text_faults.file_faults(sorted(tmp_path.iterdir()), config)]
