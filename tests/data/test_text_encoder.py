"""Many documents in one file, a line of JSON for each."""

from dataclasses import replace
from pathlib import Path

import pytest

from seqkit.config import DataConfig
from seqkit.data import files, text_encoder
from seqkit.data.files import BadFileError
from seqkit.data.shards.plan import FileSlice

DOCUMENTS = ["one\nand\ttwo", 'a "quoted" one\r\n', "☃ \u2028 \x1e \0", "\U0001f600" * 3]


def uncounted(size: int) -> None:
    pass


def written(folder: Path) -> FileSlice:
    file = folder / "rows"
    file.write_bytes(b"".join(map(text_encoder.line_of, DOCUMENTS)))
    return FileSlice("rows", file, 0, file.stat().st_size)


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_documents_come_back_as_they_were(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_BLOCK", block)
    rows, read = written(tmp_path), list[int]()
    found = [
        one for some in text_encoder.row_batches(rows, DataConfig(), read.append) for one in some
    ]
    assert found == DOCUMENTS
    assert sum(read) == rows.size


def test_line_ends_become_lf(tmp_path: Path) -> None:
    (found,) = text_encoder.row_batches(written(tmp_path), DataConfig(newline="lf"), uncounted)
    assert found[1] == 'a "quoted" one\n'


def test_some_lines_are_read_alone(tmp_path: Path) -> None:
    begin = len(text_encoder.line_of(DOCUMENTS[0]))
    end = begin + len(text_encoder.line_of(DOCUMENTS[1]))
    rows = replace(written(tmp_path), begin=begin, end=end)
    assert [*text_encoder.row_batches(rows, DataConfig(), uncounted)] == [DOCUMENTS[1:2]]


@pytest.mark.parametrize("damaged", [b'"cut sho', b'"a"\nnothing\n', b'"a"\n{"b": \n'])
def test_a_damaged_file_is_refused(damaged: bytes, tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(damaged)
    with pytest.raises(BadFileError, match="damaged: remove it"):
        list(text_encoder.row_batches(FileSlice("", file, 0, 99), DataConfig(), uncounted))
