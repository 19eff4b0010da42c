"""What the log says of events."""

from pathlib import Path

from seqkit.runs.events import Started, describe


def test_a_newline_in_a_file_name_breaks_no_line() -> None:
    started = Started(0, 9, 1000, "new\nline.txt", 5, 77, "CPU", "fp32", Path("runs/a"), "")
    told = describe(started)
    assert told is not None
    assert told.startswith(r"training: 1,000 symbols of new\nline.txt, 5 distinct")
    assert "\n" not in told
