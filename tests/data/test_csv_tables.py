"""The beginning of CSV tells of its rows and columns."""

from pathlib import Path

from seqkit.data import csv_tables


def test_a_file_that_is_no_csv_has_no_columns(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    for file, first in zip(files, ("id,text", "x" * 200_000, "id,text"), strict=True):
        file.write_text(f"{first}\n1,some words\n")
    assert [*csv_tables.with_columns(files, ["id", "text"])] == [files[0], files[2]]
