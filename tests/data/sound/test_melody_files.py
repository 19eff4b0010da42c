"""Melodies are read from CSV and MIDI files, and what is none is refused with its line."""

from pathlib import Path

import numpy as np
import pytest

from seqkit.data.files import BadFileError
from seqkit.data.sound import melody_files
from seqkit.symbols import Floats

mido = pytest.importorskip("mido")


def read(path: Path) -> tuple[Floats, Floats, float]:
    """Notes and decibels every 10 ms, and seconds."""
    melody, seconds = melody_files.read(path, 0.01)
    return melody[:, 0], melody[:, 1], seconds


def test_lines_hold_until_the_next_and_the_last_one_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Time (s),hertz,decibels\n0.1,440,-20\n0.2,220, -10\n\n0.3,,-30\n0.405,880,0\n")
    notes, decibels, seconds = read(path)
    assert seconds == 0.405
    assert len(notes) == 41
    assert notes[[0, 9, 10, 19, 20, 30, 40]].tolist() == [0, 0, 69, 69, 57, 0, 0]
    assert decibels[[9, 10, 20, 30, 40]].tolist() == [-70, -20, -10, -70, -70]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,440\n1,440,0\n", "line 1 is '0,440': give seconds"),
        ("0,A4,0\n1,,0\n", "line 1 is '0,A4,0'"),
        ("0,-5,0\n1,,0\n", "line 1 is"),
        ("0,440,nan\n1,,0\n", "line 1 is"),
        ("1,440,0\n0,,0\n", "line 2 is"),
        ("0,440,0\n", "holds no note"),
        ("0,440,0\n1e9,,0\n", "within a day"),
    ],
)
def test_what_is_no_melody_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(BadFileError, match=words):
        read(path)


def midi(path: Path, *messages: object) -> Path:
    """A file whose ticks are hundredths of a second."""
    made = mido.MidiFile(ticks_per_beat=50)
    made.tracks.append(mido.MidiTrack(messages))
    made.save(path)
    return path


def note(kind: str, number: int, ticks: int, velocity: int = 127, channel: int = 0) -> object:
    return mido.Message(kind, note=number, velocity=velocity, time=ticks, channel=channel)


def test_notes_are_as_long_and_as_loud_as_they_are_and_drums_do_not_count(tmp_path: Path) -> None:
    path = midi(
        tmp_path / "a.mid",
        note("note_on", 60, 10),
        note("note_on", 40, 0, channel=9),
        note("note_on", 60, 20, 0),
        note("note_on", 64, 10, 64),
        note("note_off", 64, 10),
    )
    notes, decibels, seconds = read(path)
    assert seconds == pytest.approx(0.5)
    assert notes.tolist() == [0] * 10 + [60] * 20 + [0] * 10 + [64] * 10
    assert decibels[[0, 10, 45]] == pytest.approx([-70, 0, 40 * np.log10(64 / 127)])


def test_of_chords_the_highest_note_counts(tmp_path: Path) -> None:
    messages = (note("note_on", 60, 0), note("note_on", 67, 10), note("note_off", 67, 10))
    path = midi(tmp_path / "a.mid", *messages, note("note_off", 60, 10))
    assert read(path)[0].tolist() == [60] * 10 + [67] * 10 + [60] * 10


def test_a_midi_file_without_notes_and_what_is_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFileError, match="holds no note"):
        read(midi(tmp_path / "a.mid"))
    whole = midi(tmp_path / "b.mid", note("note_on", 60, 0), note("note_off", 60, 9)).read_bytes()
    for content in (b"", b"RIFF", whole[:-9]):
        (tmp_path / "c.mid").write_bytes(content)
        with pytest.raises(BadFileError, match="is no MIDI file, or a damaged one"):
            read(tmp_path / "c.mid")
