"""Every kind of data has a speed."""

from benchmarks import preparing


def test_every_row_has_a_figure() -> None:
    rows = preparing.table(1).splitlines()
    assert [row.split()[0] for row in rows] == ["ASCII", "UTF-8", "sound"]
    assert all("MB/s" in row for row in rows)
    assert "real time" in rows[2]
