"""Many documents in one file, a line of JSON for each."""

from pathlib import Path

import pytest

from seqkit.config import DataConfig
from seqkit.data import files, text_encoder
from seqkit.data.files import BadFileError

DOCUMENTS = ["one\nand\ttwo", 'a "quoted" one\r\n', "☃ \u2028 \x1e \0", "\U0001f600" * 3]


def uncounted(size: int) -> None:
    pass


def written(folder: Path) -> Path:
    file = folder / "rows"
    file.write_bytes(b"".join(map(text_encoder.line_of, DOCUMENTS)))
    return file


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_documents_come_back_as_they_were(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_BLOCK", block)
    file, read = written(tmp_path), list[int]()
    found = [
        one for some in text_encoder.row_batches(file, DataConfig(), read.append) for one in some
    ]
    assert found == DOCUMENTS
    assert sum(read) == file.stat().st_size


def test_line_ends_become_lf(tmp_path: Path) -> None:
    (found,) = text_encoder.row_batches(written(tmp_path), DataConfig(newline="lf"), uncounted)
    assert found[1] == 'a "quoted" one\n'


def test_some_lines_are_read_alone(tmp_path: Path) -> None:
    file = written(tmp_path)
    begin = len(text_encoder.line_of(DOCUMENTS[0]))
    end = begin + len(text_encoder.line_of(DOCUMENTS[1]))
    assert [*text_encoder.row_batches(file, DataConfig(), uncounted, begin, end)] == [
        DOCUMENTS[1:2]
    ]


@pytest.mark.parametrize("damaged", [b'"cut sho', b'"a"\nnothing\n', b'"a"\n{"b": \n'])
def test_a_damaged_file_is_refused(damaged: bytes, tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(damaged)
    with pytest.raises(BadFileError, match="damaged: remove it"):
        list(text_encoder.row_batches(file, DataConfig(), uncounted))
