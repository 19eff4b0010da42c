"""Texts that were probably meant to be read otherwise are told about, and read as asked."""

import json
from pathlib import Path

import pytest

from seqkit.config import DataConfig
from seqkit.data import text_hints
from seqkit.data.load import load_corpus
from seqkit.data.shards.prepare import prepare
from seqkit.foundation.errors import DataError
from seqkit.foundation.plugins import Catalogue
from tests.data.texts import load

pytestmark = pytest.mark.faults


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder of UTF-8 in which one file is Latin-1."""
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.txt").write_text("tea\n")
    (tmp_path / "mixed" / "l.txt").write_text("café\n", "latin-1")
    (tmp_path / "mixed" / "u.txt").write_text("café\n", "utf-8-sig")
    return tmp_path / "mixed"


def test_the_advice_for_one_file_of_many_says_that_it_holds_for_all(mixed: Path) -> None:
    for path, several in ((mixed, True), (mixed / "l.txt", False)):
        with pytest.raises(DataError, match=r"l\.txt: byte 3 .* data\.encoding=latin-1") as told:
            load(path, mixed.parent / "cache")
        assert ("skip leaves such files out (data.encoding holds for" in str(told.value)) == several


def test_utf_8_that_is_read_as_something_else_is_told_about(mixed: Path) -> None:
    cache = mixed.parent / "cache"
    told = f"1 of 3 files ({mixed / 'u.txt'}) can be read as UTF-8, too, and would then have other"
    for _ in range(2):  # the second time from the cache
        notes = load(mixed, cache, encoding="latin-1").notes
        assert notes[0].startswith(told)
        assert notes[0].endswith("data.encoding=utf-8 data.on_bad_file=skip reads only such files")
    (alone,) = load(mixed / "u.txt", cache, encoding="cp1252").notes
    assert alone.startswith("the file (")
    assert alone.endswith("data.encoding=cp1252: give data.encoding=utf-8")
    assert not load(mixed / "l.txt", cache, encoding="latin-1").notes
    assert not load(mixed / "a.txt", cache, encoding="latin-1").notes
    notices: list[str] = []
    config = DataConfig(path=[str(mixed)], encoding="latin-1")
    shards = mixed.parent / "shards"
    prepare(config, shards, catalogue=Catalogue(), notice=notices.append, processes=1)
    assert any(notice.startswith(told) for notice in notices)


def test_punctuation_of_windows_that_is_read_as_latin_1_is_told_about(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("“café au lait, please”…\n", "cp1252")
    with pytest.raises(DataError, match=r"byte 0 \(0x93\) .*, as in data\.encoding=cp1252, or"):
        load(tmp_path / "a.txt", tmp_path / "cache")
    (told,) = load(tmp_path / "a.txt", tmp_path / "cache", encoding="latin-1").notes
    assert told.startswith(f"the file ({tmp_path / 'a.txt'}) can be read as Windows-1252, too")
    assert told.endswith("(U+0080 to U+009F): give data.encoding=cp1252")
    assert not load(tmp_path / "a.txt", tmp_path / "cache", encoding="cp1252").notes
    (tmp_path / "a.txt").write_bytes(b"no character of Windows: \x81, and some: \x93\n")
    assert not load(tmp_path / "a.txt", tmp_path / "cache", encoding="latin-1").notes


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp1251"])
def test_utf_8_up_to_a_byte_that_is_none_is_told_about(encoding: str, tmp_path: Path) -> None:
    german = "Größe, Straße, Übermut\n" * 200
    (tmp_path / "a.txt").write_bytes(german.encode() + german.encode("latin-1"))
    (told,) = load(tmp_path / "a.txt", tmp_path / "cache", encoding=encoding).notes
    assert told.startswith(f"there is UTF-8 at the beginning of the file ({tmp_path / 'a.txt'})")
    assert told.endswith(f"data.encoding={encoding}: data.encoding=utf-8 names that byte")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Größe, Straße, Übermut: „Ach“, sagte er.", "cp1252"),
        ("«Évidemment», dit-il… CAFÉ™, CAFÉ’S, À «Ç», où ça coûte 5 €.", "cp1252"),
        ("THE CAFÉ® AND THE CAFÉ…, SAID ZOË’S “PÂTÉ” – Ä“", "cp1252"),
        ("¿Qué? ¡Año nuevo! El niño volvió a España.", "latin-1"),
        ("Zażółć gęślą jaźń, Łódź i Źdźbło.", "cp1250"),
        ("Все счастливые семьи похожи друг на друга. «Ёж», сказал он.", "cp1251"),
        ("ВСЕ СЧАСТЛИВЫЕ СЕМЬИ. Все счастливые семьи похожи.", "koi8-r"),
        ("Όλες οι ευτυχισμένες οικογένειες μοιάζουν.", "cp1253"),
        ("吾輩は猫である。名前はまだ無い。ニャーニャー泣いて", "shift_jis"),
        ("吾輩は猫である。名前はまだ無い。ニャーニャー泣いて", "euc_jp"),
        ("幸福的家庭都是相似的，不幸的家庭各有各的不幸。联通", "gbk"),
        ("행복한 가정은 모두 모습이 비슷하고", "euc_kr"),
    ],
)
def test_no_other_encoding_is_taken_for_utf_8(text: str, encoding: str, tmp_path: Path) -> None:
    for begin in range(0, len(text), 5):  # a text may begin with any of these words
        (tmp_path / "a.txt").write_bytes((text[begin:] + "\n" + text).encode(encoding))
        config = DataConfig(path=[str(tmp_path)], encoding=encoding)
        assert not text_hints.of([tmp_path / "a.txt"], config)
        with pytest.raises(DataError, match=r"is not utf-8: name its encoding"):
            load(tmp_path / "a.txt", tmp_path / "cache")


def test_only_the_first_files_are_looked_at(tmp_path: Path) -> None:
    for number in range(25):
        (tmp_path / f"{number:02}.txt").write_text("café\n", "utf-8" if number > 18 else "latin-1")
    config = DataConfig(path=[str(tmp_path)], encoding="latin-1")
    (told,) = text_hints.of(sorted(tmp_path.iterdir()), config)
    assert told.startswith(f"1 of the first 20 files ({tmp_path / '19.txt'}) can be read as UTF-8")


def test_a_character_may_be_cut_where_the_look_ends(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" + "é" * 200_000)
    assert load(tmp_path / "a.txt", tmp_path / "cache", encoding="latin-1").notes


ROWS = [{"id": str(number), "body": "some words, " * 3, "text": "tea"} for number in range(30)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
TABLE = 'id,"said by"\n' + '1,"a long, long text"\n' * 3


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.jsonl", LINES, "the data are JSON objects: to learn the text of one field, give"),
        ("a.jsonl", LINES, "data.column=text"),
        ("a.json", LINES.replace("text", "no"), "data.column=body"),
        ("a.json", json.dumps(ROWS), "data.column=text"),
        ("a.json", json.dumps(ROWS * 99, indent=2), "data.column=text"),  # more than is looked at
        ("a.json", "[1, 2]\n", ""),
        ("a.json", '[{"text": "tea"}, 2]\n', ""),
        ("a.json", "[not JSON]\n", ""),
        ("a.json", "[]\n", ""),
        ("a.jsonl", LINES * 99 + '{"text": "cut', "data.column=text"),  # after what is looked at
        ("a.csv", TABLE, "each line is a row of a table: to learn the text of one column, give"),
        ("a.csv", TABLE, "data.column='said by'"),
        ("a.csv", '1,"a long text!"\n' * 9, ""),  # no names in front
        ("a.csv", f"1,{'a long text ' * 9}\n" * 9, ""),
        ("a.csv", "0.762,tea,a house\n" * 9, "the first row of "),
        ("a.csv", "0.762,great film\n0.1,bad film\n", "put a line of 2 names in front"),
        ("a.csv", "-1.5,great film\n2,bad film\n", "data.column=NAME"),
        ("a.csv", "0.762,great film\nunknown,bad film\n", ""),
        ("a.csv", "5,great film,yes\n3,bad,no\n", ""),
        ("a.csv", "country,2019,2020\nFrance,12,13\n", ""),  # names that look like values
        ("a.csv", "country,0.05,0.95\nFrance,1.2,1.3\n", ""),
        ("a.csv", f"{'How do you like the tea? ' * 3},Why\nvery,so\n", ""),
        ("a.csv", "text,inf\nsome words,0.5\n", ""),
        ("a.csv", "id,said\n" + '1,"two\n\nlines"\n' * 3, "data.column=said"),
        ("a.csv", "id,said\n" + '1,"many\nlines"\n' * 4000, "data.column=said"),  # is cut
        ("a.csv", 'id,said\n1,"two"lines\n', ""),  # no CSV
        ("a.csv", "1\n2\n3\n", ""),
        ("a.csv", ",said\n1,tea\n", ""),  # as libraries write a column without a name
        ("a.txt", LINES, ""),  # no data set by its name
        ("a.jsonl", LINES + "no JSON\n", "data.column=text"),
        ("a.jsonl", "no JSON\n" + LINES, ""),
        pytest.param("a.jsonl", "[" * 30_000 + "\n" + LINES, "", id="deep"),
        ("a.jsonl", '{"text": 1}\n' * 9, ""),
        ("a.json", '{\n"text": "pretty"\n}\n', ""),
        ("a.csv", "a poem,\nwith commas\n" * 9, ""),
    ],
)
def test_lines_of_json_and_csv_are_hinted_at(
    name: str, content: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text(content)
    config, notices = DataConfig(path=[str(file)], kind="text"), list[str]()
    corpus = load_corpus(config, catalogue=Catalogue(), notice=notices.append)
    assert corpus.codec.decode(corpus.whole.symbols) == content  # as it is
    assert [told in notice for notice in notices] == [True] * bool(told)
    assert all(f"data.kind=hf data.path={file} data.column=" in notice for notice in notices)
    notices.clear()
    load_corpus(config, catalogue=Catalogue(), notice=notices.append, codec=corpus.codec)
    assert not notices  # where nothing is trained


@pytest.mark.parametrize("text", ["a text", "a text, with a comma"])
def test_a_table_with_semicolons_is_to_be_saved_otherwise(text: str, tmp_path: Path) -> None:
    file, other = tmp_path / "a.csv", tmp_path / "b.csv"
    file.write_text(f"id;text;label\n1;{text};0\n2;a text;1\n")
    config = DataConfig(path=[str(file)])
    (told,) = text_hints.of([file], config)
    assert told.startswith("each line is a row of a table with ; between its columns")
    assert "save it with commas, or as lines of JSON" in told
    other.write_text(TABLE)
    assert not text_hints.of([file, other], config)
    file.write_text("id,text; more\n1,a; b\n")
    (told,) = text_hints.of([file], config)
    assert "data.column='text; more'" in told


def test_tables_without_a_common_column_are_named_with_theirs(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.csv", "b.csv")]
    files[0].write_text("id,text\n1,some words\n")
    files[1].write_text("text,body\nmore,some words\n")
    config = DataConfig(path=[str(tmp_path)])
    (told,) = text_hints.of(files, config)
    assert told.endswith(f"data.path={tmp_path} data.column=text")
    files[1].write_text("number,body,a,b,c,d\n1,some words,a,b,c,d\n")
    (told,) = text_hints.of(files, config)
    each = f"{files[0]} has id, text; {files[1]} has number, body, a, b, c …"
    assert told.startswith(f"no column is in all files: {each}: to learn the text of one column,")
    assert told.endswith(f"data.kind=hf data.path={files[0]} data.column=text")


def test_the_table_that_is_named_lacks_the_column_that_is_advised(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    for file, columns in zip(files, ("x,y", "y,z", "x,z"), strict=True):
        file.write_text(f"{columns}\nsome words,1\n")
    (told,) = text_hints.of(files, DataConfig(path=[str(tmp_path)]))
    assert f"{files[0]} has x, y; {files[1]} has y, z: to learn" in told
    assert told.endswith(f"data.path={files[0]} data.column=x")


def test_a_table_among_texts_is_a_text(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(LINES)
    config = DataConfig(path=[str(tmp_path)])
    assert text_hints.of(sorted(tmp_path.iterdir()), config)
    (tmp_path / "c.md").write_text("some text")
    assert not text_hints.of(sorted(tmp_path.iterdir()), config)
    assert not text_hints.of([], config)  # as doctor asks of shards


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{\\rtf1\\ansi some words}", "the data are RTF, whose markup is learnt, too"),
        ("\ufeff \n<!DOCTYPE html>\n<p>some words", "the data are HTML"),
        ("<HTML lang=en>", "the data are HTML"),
        ("the tag <html> begins a page", ""),
    ],
)
def test_documents_with_markup_are_told_about(content: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(content)
    config, files = DataConfig(path=[str(tmp_path)]), [tmp_path / "a.txt"]
    assert [told in line for line in text_hints.of(files, config)] == [True] * bool(told)
    assert not text_hints.of(files, config, tables=False)
    (tmp_path / "b.c").write_text("main() {}")
    assert not text_hints.of([*files, tmp_path / "b.c"], config)
