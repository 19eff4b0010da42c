"""Where text is cut into documents, whatever the blocks are in which it comes."""

from pathlib import Path
from typing import Any

import pytest

from seqkit.data import files
from seqkit.data.encoders import split_documents
from tests.data.conftest import load


def joined(text: str, separator: str, block: int) -> list[str]:
    """The documents of a text that comes in blocks of so many characters."""
    found = [""]
    blocks = (text[at : at + block] for at in range(0, len(text), block))
    for first, *others in split_documents(blocks, separator):
        found[-1] += first
        found += others
    return found


@pytest.mark.parametrize("block", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize(
    ("text", "separator", "wanted"),
    [
        ("Ada\n\nBob \nEve", "\n", ["Ada", "", "Bob ", "Eve"]),
        ("Ada\nBob\n", "\n", ["Ada", "Bob", ""]),
        ("a\nb\n\n\nc", "\n\n", ["a\nb", "\nc"]),
        ("a<|end|>b<|end|", "<|end|>", ["a", "b<|end|"]),
    ],
)
def test_documents_do_not_depend_on_the_blocks(
    text: str, separator: str, wanted: list[str], block: int
) -> None:
    assert joined(text, separator, block) == wanted


def texts(path: Path, **keys: Any) -> tuple[list[str], list[str]]:
    """The documents of a file, and what is told of it."""
    told: list[str] = []
    corpus = load(path, told=told, **keys)
    whole, codec = corpus.whole, corpus.codec
    ends = [*whole.starts[1:].tolist(), len(whole)]
    pairs = zip(whole.starts.tolist(), ends, strict=True)
    return [str(codec.decode(whole.symbols[begin:end])) for begin, end in pairs], told


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [1, 64])
def test_lines_are_cut_in_every_encoding(
    end: str, encoding: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_BLOCK", block)
    names = ["Zoë", "", "Anna", " ", " \t ", "Jürgen"]
    path = tmp_path / "names.txt"
    path.write_bytes(end.join([*names, ""]).encode(encoding))
    found, told = texts(path, document="line", encoding=encoding)
    assert found == ["Zoë", "Anna", " ", " \t ", "Jürgen"]
    assert told == ["1 empty document left out"]
    assert texts(path, document=r"\n\n", encoding=encoding)[0] == ["Zoë", "Anna\n \n \t \nJürgen\n"]


def test_a_character_that_is_left_out_leaves_the_other_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("abab\n☃\nba☃\nab")
    found, told = texts(path, document="line", max_vocabulary=2, unknown="skip")
    assert found == ["abab", "ba", "ab"]
    assert told[0].startswith("2 characters") and "1 empty document left out" in told[1]
