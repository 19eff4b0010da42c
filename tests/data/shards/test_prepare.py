"""Shards hold what the same data hold without them, however they are cut and by however many."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.config import DataConfig
from seqkit.data.file_search import Search
from seqkit.data.shards import plan
from seqkit.data.shards.index import read_index
from seqkit.data.shards.prepare import prepare
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Bar, unseen
from seqkit.foundation.errors import ConfigError, DataError, OutputError
from tests.conftest import SENTENCE, fill_disk
from tests.data.replacing import replaced
from tests.data.shards.conftest import Prepare, Small, encoded, read, starts_in


@pytest.fixture
def sounds(tmp_path: Path) -> Path:
    """Recordings of different lengths, levels, rates and channels."""
    folder = tmp_path / "sounds"
    folder.mkdir()
    draw = np.random.default_rng(0)
    for number, (length, rate, channels) in enumerate(((3000, 8000, 1), (4411, 11025, 2))):
        wave = 0.1 * (number + 1) * draw.standard_normal((length, channels))
        soundfile.write(folder / f"{number}.wav", wave.clip(-1, 1), rate)
    soundfile.write(folder / "silent.wav", np.zeros(3000), 8000)
    return folder


@pytest.mark.parametrize("size", [5, 100, 1 << 20])
@pytest.mark.parametrize("newline", ["keep", "lf"])
def test_text_in_shards_is_what_it_is_without(
    letters: Path, prepared: Prepare, tmp_path: Path, small: Small, size: int, newline: str
) -> None:
    small(size)
    index = prepared(path=[str(letters)], newline=newline)
    symbols, starts, codec = encoded(path=[str(letters)], newline=newline)
    folder = tmp_path / "shards"
    assert (read(folder, index), starts_in(folder), index.codec) == (symbols, starts, codec)
    assert index.names == [f"{number}.txt" for number in range(5)]
    assert index.documents == [1] * 5
    assert (len(index.shards) > 1) == (size < 1000)


def test_no_size_is_guessed_of_compressed_sound(
    prepared: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    soundfile.write(tmp_path / "a.ogg", 0.1 * np.sin(np.arange(80_000)), 8000)
    fill_disk(monkeypatch, files=".*.bin.*")
    for read_in in (prepared, encoded):
        with pytest.raises(OutputError, match=r"\.bin: no space left on device") as told:
            read_in(path=[str(tmp_path / "a.ogg")])
        assert "up to" not in str(told.value)


@pytest.mark.thorough
def test_several_processes_make_the_same_shards(
    letters: Path, prepared: Prepare, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(40)
    alone = prepared(path=[str(letters)])
    monkeypatch.setattr(plan, "_FEW", 0)
    monkeypatch.setattr("seqkit.foundation.machine.own_cores", lambda: 3)
    together = prepared(overwrite=True, path=[str(letters)])
    # New shards have other names beside those that they replace.
    assert [one.sha256 for one in together.shards] == [one.sha256 for one in alone.shards]
    assert replace(together, shards=alone.shards, starts=alone.starts) == alone


@pytest.mark.parametrize(("gain", "channels"), [("none", 1), ("peak", 2), ("rms", 1)])
def test_sound_in_shards_is_what_it_is_without(
    sounds: Path, prepared: Prepare, tmp_path: Path, small: Small, gain: str, channels: int
) -> None:
    small(10_000)
    keys = {"path": [str(sounds)], "gain": gain, "sample_rate": 6000, "levels": 1000}
    keys["channels"] = channels
    index = prepared(**keys)
    symbols, starts, codec = encoded(**keys)
    folder = tmp_path / "shards"
    assert (read(folder, index), starts_in(folder)) == (symbols, starts)
    assert index.codec == pytest.approx(codec)
    assert index.settings["channels"] == channels
    assert (index.dtype, index.skipped, index.whole_documents) == ("uint16", 1, True)
    assert len(index.shards) == 2


def test_bytes_and_a_small_vocabulary(letters: Path, prepared: Prepare, tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    for keys in (
        {"kind": "bytes"},
        {"max_vocabulary": 5, "unknown": "skip"},
        {"max_vocabulary": 5, "unknown": "nearest"},
    ):
        index = prepared(overwrite=True, path=[str(letters)], **keys)
        assert read(folder, index) == encoded(path=[str(letters)], **keys)[0]


def test_a_character_outside_is_named_with_its_file(
    letters: Path, prepared: Prepare, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"0\.txt: character .* is not in the vocabulary"):
        prepared(path=[str(letters)], max_vocabulary=5)
    assert not list((tmp_path / "shards").glob(".*"))


def test_what_is_no_text_is_left_out_whole(
    letters: Path, prepared: Prepare, tmp_path: Path, small: Small
) -> None:
    small(20)  # the bad byte is in the last of several shards
    (letters / "bad.txt").write_bytes(b"QQQQQQQQQQ" * 6 + b"\xff")
    index = prepared(path=[str(letters)], on_bad_file="skip")
    assert read(tmp_path / "shards", index) == encoded(path=[str(letters)], on_bad_file="skip")[0]
    assert index.unreadable_files == 1
    assert ord("Q") not in index.codec["vocabulary"]
    with pytest.raises(DataError, match=r"bad\.txt: byte 60 .* is not utf-8"):
        prepared(path=[str(letters)], overwrite=True)


def test_a_preparation_goes_on_and_checks_what_stands(
    letters: Path, prepared: Prepare, tmp_path: Path, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(40)
    folder = tmp_path / "shards"
    whole = prepared(path=[str(letters)])
    shutil.rmtree(folder)
    with monkeypatch.context() as full:
        fill_disk(full, files=".000005.bin.*")
        with pytest.raises(
            OutputError, match=r"000005\.bin: no space left .*: all shards take up to 0\.7 kB"
        ):
            prepared(path=[str(letters)])
    assert sorted(file.name for file in folder.iterdir()) == [
        *(f"00000{number}.{kind}" for number in range(5) for kind in ("bin", "json")),
        "prepare.json",
    ]
    with pytest.raises(DataError, match="shards that are not finished: the command that prepares"):
        [*Search("text").files([folder])]
    search = Search("text")
    assert folder not in {file.parent for _, file in search.files([folder.parent])}
    assert search.left_out["holding shards"] == 1
    before = {file.name: file.stat().st_mtime_ns for file in folder.glob("*.bin")}
    (folder / "000001.bin").write_bytes(b"altered")
    (folder / "000003.json").write_bytes(b"altered")
    assert prepared(path=[str(letters)]) == whole
    after = {file.name: file.stat().st_mtime_ns for file in folder.glob("*.bin")}
    assert {name for name in before if before[name] != after[name]} == {
        *("000001.bin", "000003.bin")
    }
    assert not (folder / "prepare.json").exists()


@pytest.fixture
def half_done(
    letters: Path, prepared: Prepare, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A preparation of the letters that ended at its sixth shard, for want of room."""
    small(40)
    with monkeypatch.context() as full:
        fill_disk(full, files=".000005.bin.*")
        with pytest.raises(OutputError, match="no space left"):
            prepared(path=[str(letters)])


def test_a_preparation_does_not_go_on_with_a_file_that_was_replaced(
    letters: Path, prepared: Prepare, half_done: None
) -> None:
    file = letters / "0.txt"
    replaced(file, file.read_bytes()[::-1])
    with pytest.raises(OutputError, match="contains an unfinished preparation of other files"):
        prepared(path=[str(letters)])


def test_a_folder_with_something_else_is_refused(
    letters: Path, prepared: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    (folder / "index.json").write_text("{}")
    with pytest.raises(OutputError, match=r"shards holds index\.json, which is no shard"):
        prepared(path=[str(letters)], overwrite=True)
    (folder / "index.json").unlink()
    with monkeypatch.context() as full:
        fill_disk(full, files=".index.json.*")
        with pytest.raises(OutputError, match="no space left"):
            prepared(path=[str(letters)])
    with pytest.raises(
        OutputError, match="unfinished preparation of other files, or with other settings"
    ):
        prepared(path=[str(letters)], newline="lf")
    prepared(path=[str(letters)], newline="lf", overwrite=True)
    whole = "holds shards: train with data.path=.*shards; to prepare others, or these anew, give "
    with pytest.raises(OutputError, match=whole):
        prepared(path=[str(letters)])
    (folder / "mine.txt").write_text("of the user")
    with pytest.raises(OutputError, match=r"holds mine\.txt"):
        prepared(path=[str(letters)], overwrite=True)
    assert (folder / "mine.txt").exists()


def test_shards_are_no_files_to_prepare(letters: Path, prepared: Prepare, tmp_path: Path) -> None:
    prepared(path=[str(letters)])
    with pytest.raises(DataError, match="holds shards already"):
        prepared(path=[str(tmp_path / "shards")])
    with pytest.raises(ConfigError, match=r"lies in data\.path"):
        prepared(path=[str(tmp_path)])


@pytest.mark.parametrize("change", ["append", "shorten", "remove"])
def test_a_file_that_changes_while_it_is_read(letters: Path, tmp_path: Path, change: str) -> None:
    file = letters / "3.txt"

    @contextlib.contextmanager
    def progress(title: str, total: int = 0, completed: int = 0, unit: str = "") -> Iterator[Bar]:
        if title == "encoding":  # after the first pass
            if change == "remove":
                file.unlink()
            else:
                file.write_text(SENTENCE * (10 if change == "append" else 1))
        with unseen(title, total) as bar:
            yield bar

    with pytest.raises(DataError, match=r"3\.txt: (changed while it was read|cannot be read)"):
        prepare(
            DataConfig(path=[str(letters)]),
            tmp_path / "shards",
            catalogue=Catalogue(),
            notice=print,
            progress=progress,
        )
    assert not (tmp_path / "shards" / "index.json").exists()


def test_the_format_needs_no_library(letters: Path, prepared: Prepare, tmp_path: Path) -> None:
    index = prepared(path=[str(letters)])
    folder = tmp_path / "shards"
    told = json.loads((folder / "index.json").read_text())
    assert (told["format"], told["version"], told["dtype"]) == ("seqkit shards", 1, "uint8")
    shard = told["shards"][0]
    symbols = np.memmap(folder / shard["file"], told["dtype"], "r")
    assert len(symbols) == shard["symbols"]
    assert hashlib.sha256(symbols.tobytes()).hexdigest() == shard["sha256"]
    starts = np.memmap(folder / "starts.int64", "<i8", "r")
    assert hashlib.sha256(starts.tobytes()).hexdigest() == told["starts_sha256"]
    assert (len(starts), told["documents"]) == (5, [1] * 5)
    start = starts[told["names"].index("3.txt")]
    text = "".join(chr(told["codec"]["vocabulary"][symbol]) for symbol in symbols[start:])
    assert text.startswith(SENTENCE)
    assert read_index(folder)[0] == index
