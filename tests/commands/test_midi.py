"""A MIDI file is sung by a model of notes, and refused in a line where that cannot be."""

from pathlib import Path

import mido
import numpy as np
import pytest
import soundfile

import seqkit
from seqkit.data.files import BadFileError
from seqkit.generation.midi import read_notes
from seqkit.symbols import Floats
from tests.commands.conftest import RATE, TINY
from tests.conftest import Run, process

pytestmark = pytest.mark.thorough


def midi(path: Path, *messages: object) -> Path:
    """A file whose ticks are hundredths of a second."""
    made = mido.MidiFile(ticks_per_beat=50)
    made.tracks.append(mido.MidiTrack(messages))
    made.save(path)
    return path


def note(kind: str, number: int, ticks: int, velocity: int = 127, channel: int = 0) -> object:
    return mido.Message(kind, note=number, velocity=velocity, time=ticks, channel=channel)


def notes_of(path: Path) -> Floats:
    """Those of every 10 ms."""
    return read_notes(path, 0.01)[0]


def test_notes_are_as_long_as_they_are_and_drums_do_not_count(tmp_path: Path) -> None:
    path = midi(
        tmp_path / "a.mid",
        note("note_on", 60, 10),
        note("note_on", 40, 0, channel=9),
        note("note_on", 60, 20, 0),
        note("note_on", 64, 10),
        note("note_off", 64, 10),
    )
    assert notes_of(path).tolist() == [0] * 10 + [60] * 20 + [0] * 10 + [64] * 10
    assert read_notes(path, 0.01)[1] == pytest.approx(0.5)


def test_of_chords_the_highest_note_counts(tmp_path: Path) -> None:
    messages = (note("note_on", 60, 0), note("note_on", 67, 10), note("note_off", 67, 10))
    path = midi(tmp_path / "a.mid", *messages, note("note_off", 60, 10))
    assert notes_of(path).tolist() == [60] * 10 + [67] * 10 + [60] * 10


def test_a_midi_file_without_notes_and_what_is_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFileError, match="holds no note"):
        notes_of(midi(tmp_path / "a.mid"))
    whole = midi(tmp_path / "b.mid", note("note_on", 60, 0), note("note_off", 60, 9)).read_bytes()
    for content in (b"", b"RIFF", whole[:-9]):
        (tmp_path / "c.mid").write_bytes(content)
        with pytest.raises(BadFileError, match="is no MIDI file, or a damaged one"):
            notes_of(tmp_path / "c.mid")


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of notes, a low A and the E above, that has learnt next to nothing."""
    folder = tmp_path_factory.mktemp("voice")
    time = np.arange(RATE) / RATE
    waves = [0.4 * np.cos(2 * np.pi * hertz * time) for hertz in (220, 330)]
    soundfile.write(folder / "a.wav", np.concatenate(waves), RATE)
    network = ("model.input=embedding", "model.hidden_size=16", "model.lookback=20")
    words = (f"data.path={folder / 'a.wav'}", "data.conditions=pitch", f"run_dir={folder / 'run'}")
    done = process(*TINY, *network, *words, "train.max_steps=2", "seconds=0.1", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.fixture
def song(tmp_path: Path) -> Path:
    """An A and an E, two octaves higher than the voice, for 0.7 s."""
    messages = (note("note_on", 81, 0), note("note_off", 81, 30), note("note_on", 88, 0))
    return midi(tmp_path / "song, a.mid", *messages, note("note_off", 88, 40))


def test_a_song_is_sung_for_its_length_in_octaves_that_the_voice_knows(
    voice: Path, song: Path, run: Run, tmp_path: Path
) -> None:
    out = tmp_path / "b.wav"
    words = (f"checkpoint={voice}", f"like={song}", "seed=1", "device=cpu")
    told = run.ok("generate", *words, f"out={out}").err
    assert f"like={song}: the model knows 100% of its notes, moved by -2 octaves" in told
    made, rate = soundfile.read(out, dtype="float32")
    assert (len(made), rate) == (round(0.7 * RATE), RATE)
    model = seqkit.load(voice, device="cpu")
    assert np.abs(model.generate(like=str(song), seed=1) - made).max() < 1e-3
    assert len(model.generate(like=str(song), seed=1, seconds=0.5)) == RATE // 2
    usual, hot, same = (
        model.generate(like=str(song), seed=1, temperature=heat) for heat in (None, 1.0, 0.4)
    )
    assert np.array_equal(usual, same) and not np.array_equal(usual, hot)


def test_what_cannot_be_sung_is_refused_in_words(
    voice: Path, song: Path, learnt: Path, trained: Path, run: Run, tmp_path: Path
) -> None:
    recording = voice.with_name("a.wav")
    for code, said, model, words in [
        (3, "is no MIDI file, or a damaged one: give like=FILE.mid", voice, (f"like={recording}",)),
        (3, "no such file", voice, ("like=none.mid",)),
        (2, "it lasts 0.70 s", voice, (f"like={song}", "seconds=2")),
        (2, "leave until=document out", voice, (f"like={song}", "until=document")),
        (2, "this model sings no notes", learnt / "run", (f"like={song}",)),
        (2, "this model sings no notes", trained, (f"like={song}",)),
    ]:
        out = f"out={tmp_path / 'out.wav'}"
        assert said in run.fails(code, "generate", f"checkpoint={model}", *words, out)
        assert not (tmp_path / "out.wav").exists()


def test_weights_go_on_with_the_conditions_that_they_read(
    voice: Path, run: Run, tmp_path: Path
) -> None:
    words = (f"data.path={voice.with_name('a.wav')}", f"init_from={voice}")
    network = ("model.input=embedding", "model.hidden_size=16", "model.lookback=20")
    told = run.fails(2, *TINY, *network, *words, "data.conditions=codes", f"run_dir={tmp_path}/r")
    assert "its network does not read data.conditions=codes" in told
