"""Shards are read as other data is, and checked where they are read."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch

from seqkit.conditions import NO_CONDITIONS
from seqkit.config import DataConfig
from seqkit.data import remote, text_encoder
from seqkit.data.corpus import Corpus, Part
from seqkit.data.lanes import Lanes
from seqkit.data.load import load_corpus
from seqkit.data.shards import index as format_of_index
from seqkit.data.shards.reading import with_prepared_keys
from seqkit.evaluation import baselines
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.session import Session
from tests.conftest import SENTENCE
from tests.data.shards.conftest import Prepare

Small = Callable[[int], None]


def load(path: Path, **keys: object) -> Corpus:
    config = DataConfig(path=[str(path)], **keys)  # type: ignore[arg-type]
    return load_corpus(config, Session(Catalogue(), lambda text: None))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Files with some hundred symbols, and more than 256 different ones."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for number, size in enumerate((50, 1, 300, 120)):
        text = "".join(chr(0x4E00 + (7 * number + 3 * place) % 290) for place in range(size))
        (folder / f"{number}.txt").write_text(text)
    return folder


@pytest.fixture
def shards(
    texts: Path,
    tmp_path: Path,
    prepared: Prepare,
    small: Small,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Shards of those files, some dozens, which are checked 16 bytes at a time."""
    small(60)
    monkeypatch.setattr("seqkit.data.symbol_files.BLOCK", 16)
    assert len(prepared(path=[str(texts)]).shards) > 9
    return tmp_path / "shards"


def test_slices_and_places_are_those_of_the_files(texts: Path, shards: Path) -> None:
    plain, stored = load(texts).whole, load(shards).whole
    values = np.asarray(plain.symbols)
    assert (len(stored), stored.symbols.dtype.name) == (len(plain), "uint16")
    assert stored.starts.tolist() == plain.starts.tolist()
    assert np.array_equal(np.asarray(stored.symbols), values)
    for begin, end in ((0, 5), (15, 90), (400, 9999), (-30, -2), (7, 7), (9, 3)):
        assert stored.symbols[begin:end].tolist() == values[begin:end].tolist()
    places = np.random.default_rng(0).integers(0, len(plain), (17, 5))
    assert stored.symbols[places].tolist() == values[places].tolist()


@pytest.mark.parametrize("shift_seed", [None, 3])
def test_windows_are_those_of_the_files(texts: Path, shards: Path, shift_seed: int | None) -> None:
    parts = [load(path).split([0.8, 0.2, 0.0])[0] for path in (texts, shards)]
    plain, stored = (Lanes(part, 2, 3, 8, shift_seed) for part in parts)
    for step in range(2 * plain.steps):
        one, other = plain.window(step), stored.window(step)
        assert plain.count(step) == stored.count(step)
        assert one.conditions == other.conditions == NO_CONDITIONS
        for name in ("inputs", "targets", "fresh", "resets"):
            values, same = getattr(one, name), getattr(other, name)
            assert values is same is None or torch.equal(values, same), name
    stored.move(torch.device("cpu"))
    assert torch.equal(stored.window(1).inputs, plain.window(1).inputs)


def test_a_part_of_shards_is_cut_without_being_read(shards: Path) -> None:
    for file in shards.glob("*.bin"):
        file.write_bytes(b"\xff" * file.stat().st_size)
    whole = load(shards)
    training, validation, test = whole.split([0.5, 0.25, 0.25])
    assert len(training) + len(validation) + len(test) == len(whole.whole)
    with pytest.raises(DataError, match="altered"):
        baselines.baselines(validation, whole.codec)


def test_a_process_reads_no_lanes_but_its_own(shards: Path) -> None:
    begin = load(shards).whole
    first = sorted(shards.glob("*.bin"))[0]
    first.write_bytes(b"\xff" * first.stat().st_size)

    def lanes(rank: int) -> Lanes:
        part: Part = load(shards).whole
        own = Lanes(part, 2, 4, 8)
        own.share_out(rank, 2)
        return own

    expected = Lanes(begin, 2, 4, 8).steps
    for step in range(expected):
        lanes(1).window(step)
    with pytest.raises(DataError, match=r"000000\.bin: altered: its bytes from 0 on"):
        lanes(0).window(0)


def test_only_what_is_asked_for_is_checked(shards: Path) -> None:
    file = sorted(shards.glob("*.bin"))[2]
    content = bytearray(file.read_bytes())
    content[20] ^= 1  # in the second block of 16 bytes
    file.write_bytes(bytes(content))
    symbols = load(shards).whole.symbols
    told = json.loads((shards / "index.json").read_text())["shards"]
    begin = sum(shard["symbols"] for shard in told[:2])
    assert len(symbols[begin : begin + 8]) == 8
    with pytest.raises(DataError, match=rf"{file.name}: altered: its bytes from 16 on"):
        symbols[begin + 8 : begin + 9]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda file: file.unlink(), "no such file or directory"),
        (lambda file: file.write_bytes(file.read_bytes()[:-2]), "bytes in place of the"),
        (lambda file: file.write_bytes(file.read_bytes() + b"xx"), "bytes in place of the"),
    ],
)
def test_a_shard_that_is_missing_or_of_another_size_is_named_at_the_start(
    shards: Path, damage: Callable[[Path], Any], said: str
) -> None:
    file = sorted(shards.glob("*.bin"))[4]
    damage(file)
    with pytest.raises(DataError, match=rf"{file.name}: .*{said}.*: prepare the data again"):
        load(shards)


def test_a_shard_that_goes_while_it_is_trained_on(shards: Path) -> None:
    symbols = load(shards).whole.symbols
    file = sorted(shards.glob("*.bin"))[-1]
    file.unlink()
    with pytest.raises(DataError, match=rf"{file.name}: cannot be read"):
        symbols[-5:]


def rewritten(folder: Path, **values: object) -> None:
    """Change the index, as somebody would who knows how it is signed."""
    told = json.loads((folder / "index.json").read_text()) | values
    told.pop("sha256")
    told["sha256"] = format_of_index.digest(told)
    (folder / "index.json").write_text(json.dumps(told))


def test_an_index_that_is_damaged_altered_or_newer(shards: Path) -> None:
    index = shards / "index.json"
    whole = index.read_text()
    for content, said in (
        (whole[: len(whole) // 2], "damaged: prepare the data again"),
        (whole.replace('"0.txt"', '"1.txt"'), "altered: it is not as prepare wrote it"),
        (whole.replace('"version": 1', '"version": 2'), "format 2 is newer than this seqkit"),
    ):
        index.write_text(content)
        with pytest.raises(DataError, match=rf"index\.json: {said}"):
            load(shards)
    index.write_text(whole)
    faults: tuple[dict[str, Any], ...] = (
        {"documents": [1, 1, 1]},
        {"documents": [0, 2, 1, 1]},
        {"starts_sha256": None},
        {"names": [], "documents": []},
        {"shards": []},
        {"dtype": "float64"},
        {"dtype": "uint8"},
        {"codec": {"name": "characters"}},
        {"codec": {"name": "characters", "vocabulary": [97], "start": 0}},
        {"shards": [{"file": "../text", "symbols": 1, "sha256": "", "blocks": [""]}]},
    )
    for values in faults:
        rewritten(shards, **values)
        with pytest.raises(DataError, match=r"index\.json: damaged"):
            load(shards)
        index.write_text(whole)


LOST = [
    (lambda file: file.write_bytes(b'{"fXrmat' + file.read_bytes()[8:]), "damaged"),
    (lambda file: file.write_bytes(b""), "damaged"),
    (lambda file: file.unlink(), "missing"),
]


@pytest.mark.parametrize(("damage", "said"), LOST)
@pytest.mark.parametrize("kind", ["auto", "bytes"])
def test_shards_without_the_head_of_their_index_are_not_learnt_from_as_files(
    kind: str, shards: Path, damage: Callable[[Path], Any], said: str
) -> None:
    damage(shards / "index.json")
    config = DataConfig(path=[str(shards)], kind=kind)
    for read in (lambda: load(shards, kind=kind), lambda: with_prepared_keys(config)):
        with pytest.raises(DataError, match=rf"index\.json: {said}: prepare .* or put the file"):
            read()


@pytest.mark.parametrize("index", [None, "{}"])
def test_a_users_files_that_are_called_as_shards_are_stay_files(
    index: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "velodyne"  # a data set of point clouds has such names
    folder.mkdir()
    for number in range(3):
        (folder / f"{number:06}.bin").write_bytes(b"of the user " * 9)
    if index:
        (folder / "index.json").write_text(index)
    assert len(load(folder, kind="bytes").whole.starts) == 3 + bool(index)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0, 5, 5, 9], "damaged: starts of documents that do not rise"),
        ([1, 5, 6, 9], "damaged: starts of documents that do not rise"),
        ([0, 5, 6, 9999], "damaged: starts of documents that do not rise"),
        ([0, 5, 9], "damaged"),
        ([], "damaged"),
    ],
)
def test_starts_that_are_damaged_altered_or_missing(
    shards: Path, values: list[int], said: str
) -> None:
    content = np.array(values, "<i8").tobytes()
    (shards / "starts.int64").write_bytes(content)
    rewritten(shards, starts_sha256=hashlib.sha256(content).hexdigest())
    with pytest.raises(DataError, match=rf"starts\.int64: {said}"):
        load(shards)
    (shards / "starts.int64").write_bytes(b"\0")
    with pytest.raises(DataError, match=r"starts\.int64: altered: it is not as prepare wrote it"):
        load(shards)
    (shards / "starts.int64").unlink()
    with pytest.raises(DataError, match=r"starts\.int64: cannot be read: no such file"):
        load(shards)


def test_the_index_does_not_grow_with_documents(prepared: Prepare, tmp_path: Path) -> None:
    sizes = []
    for count in (10, 1000):
        (tmp_path / "rows").write_bytes(text_encoder.line_of("a") * count)
        prepared(overwrite=True, kind="hf", path=[str(tmp_path / "rows")])
        sizes.append((tmp_path / "shards" / "index.json").stat().st_size)
        assert len(load(tmp_path / "shards").whole.starts) == count
    assert sizes[1] - sizes[0] < 40


def test_a_symbol_outside_the_codec_is_told(shards: Path) -> None:
    told = json.loads((shards / "index.json").read_text())
    told["codec"]["vocabulary"] = told["codec"]["vocabulary"][:280]
    rewritten(shards, codec=told["codec"])
    with pytest.raises(DataError, match="it has a symbol outside the codec's 280"):
        np.asarray(load(shards).whole.symbols)


def test_keys_that_ask_for_something_else(texts: Path, tmp_path: Path, prepared: Prepare) -> None:
    prepared(path=[str(texts)], newline="lf", max_vocabulary=300)
    shards = tmp_path / "shards"
    for key, value, made in (
        ("kind", "bytes", "text"),
        ("codec", "bytes", "characters"),
        ("max_vocabulary", 7, 300),
        ("encoding", "latin-1", "utf-8"),
        ("sample_rate", 8000, 0),
        ("pattern", "*.c", ""),
    ):
        with pytest.raises(ConfigError, match=rf"data\.{key}=.* made with data\.{key}={made}: "):
            load(shards, **{key: value})
    with pytest.raises(ConfigError, match=r"give it as the only data\.path"):
        load_corpus(DataConfig(path=[str(shards), str(texts)]), Session(Catalogue(), print))
    assert load(shards, newline="lf").sha256 == load(shards).sha256
    own = with_prepared_keys(DataConfig(path=[str(shards)]))
    assert (own.newline, own.kind, own.max_vocabulary) == ("lf", "text", 300)


def test_shards_within_a_folder_are_no_files_of_it(texts: Path, prepared: Prepare) -> None:
    prepared(path=[str(texts)])
    (texts.parent / "shards").rename(texts / "shards")
    notices: list[str] = []
    config = DataConfig(path=[str(texts)])
    corpus = load_corpus(config, Session(Catalogue(), notices.append))
    assert len(corpus.whole.starts) == 4
    assert "1 holding shards" in notices[-1]


def test_what_the_index_keeps_of_the_preparation_is_told(
    texts: Path, tmp_path: Path, prepared: Prepare
) -> None:
    def told(*, source: Path = texts, **keys: object) -> list[str]:
        notices = list[str]()
        prepared(overwrite=True, path=[str(source)], **keys)
        config = DataConfig(path=[str(tmp_path / "shards")])
        load_corpus(config, Session(Catalogue(), notices.append))
        return notices

    assert told() == ["prepared from texts: 4 files"]
    assert told(source=texts / "0.txt") == []
    (texts / "latin.txt").write_bytes(b"caf\xe9")
    keys: dict[str, Any] = {"on_bad_file": "skip", "max_vocabulary": 280, "unknown": "skip"}
    (said,) = told(**keys)
    pattern = r"prepared from texts: 4 files, 1 file left out, \d+ characters left out"
    assert re.fullmatch(pattern, said)
    lines = tmp_path / "rows.jsonl"
    lines.write_text('{"text": "tea"}\n' * 3)
    data = remote.fetch(DataConfig(kind="hf", path=[str(lines)]), disk.cache_dir(), print)
    (said,) = told(source=Path(data.path[0]), kind="hf")
    assert said == "prepared from rows.jsonl: 1 file, 3 documents"
    sounds = tmp_path / "sounds"
    sounds.mkdir()
    for name, level in (("a", 0.5), ("b", 0.5), ("silent", 0.0)):
        soundfile.write(sounds / f"{name}.wav", level * np.sin(np.arange(4000)), 8000)
    assert told(source=sounds) == ["prepared from sounds: 2 files, 1 file left out"]


def test_a_digest_stands_for_all_data(texts: Path, tmp_path: Path, prepared: Prepare) -> None:
    prepared(path=[str(texts)])
    before = load(tmp_path / "shards")
    (texts / "0.txt").write_text(SENTENCE)
    prepared(path=[str(texts)], overwrite=True)
    assert load(tmp_path / "shards").sha256 != before.sha256
