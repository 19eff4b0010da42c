"""Damaged files are found, whatever was damaged, and nothing of them is ever executed."""

import contextlib
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch

from seqkit import compose
from seqkit.config import DataConfig
from seqkit.data.load import load_corpus
from seqkit.data.sound.reader import SoundReader
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import CheckpointError, ConfigError, DataError
from seqkit.foundation.ranks import Session
from seqkit.runs import checkpoint
from tests.conftest import Run
from tests.data.odd import FILES
from tests.faults.conftest import Amount

pytestmark = pytest.mark.faults
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 10**9, 10**30, 1.5, float("nan"), float("inf"), "", "\0", "../../x"),
    *("é" * 1000, [], [[]], {}, {"_target_": "os.system"}, [10**9] * 9, {"name": "os"}),
)


def last(trained: Path) -> Path:
    """A checkpoint with a training state."""
    return trained / "checkpoints" / "last.safetensors"


def test_every_flipped_bit_is_found(
    trained: Path, tmp_path: Path, amount: Amount, chance: random.Random
) -> None:
    content, file = last(trained).read_bytes(), tmp_path / "a.safetensors"
    header = 8 + int.from_bytes(content[:8], "little")
    numbers = amount(40, 200)
    for number in numbers:
        damaged = bytearray(content)
        end = (8, header, len(content))[number % 3]  # its length, its header, its tensors
        damaged[chance.randrange(end)] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError):
            checkpoint.load(file, Catalogue())


def test_every_cut_is_found(trained: Path, tmp_path: Path) -> None:
    content, file = last(trained).read_bytes(), tmp_path / "a.safetensors"
    sizes = [0, 1, 7, 8, 9, len(content) // 2, len(content) - 1]
    for size in sizes:
        file.write_bytes(content[:size])
        with pytest.raises(CheckpointError):
            checkpoint.load(file, Catalogue())
    file.write_bytes(content + b"\0")
    with pytest.raises(CheckpointError):
        checkpoint.load(file, Catalogue())


def test_a_signed_header_with_anything_in_it_is_refused_or_harmless(
    trained: Path, tmp_path: Path, amount: Amount, chance: random.Random,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    whole = checkpoint.load(last(trained), Catalogue())
    dumps = json.dumps
    refused = 0
    numbers = amount(60, 600)
    for _ in numbers:

        def mutated(header: dict[str, Any]) -> str:
            place: Any = header
            while True:
                key = chance.choice(list(place))
                if not isinstance(place[key], dict) or not place[key] or chance.random() < 0.3:
                    break
                place = place[key]
            place[key] = chance.choice(ODD)
            return dumps(header)

        with monkeypatch.context() as patched:
            patched.setattr("seqkit.runs.checkpoint.json.dumps", mutated)
            whole.save(tmp_path / "a.safetensors")
        whole = checkpoint.load(last(trained), Catalogue())  # what was saved is mutated
        try:
            checkpoint.load(tmp_path / "a.safetensors", Catalogue()).build(torch.device("cpu"))
        except CheckpointError:
            refused += 1
        assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]
    assert refused > len(numbers) // 4


class Canary:
    """What is unpickled makes a file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self._file,))


def test_files_of_other_programs_are_never_executed(run: Run, tmp_path: Path) -> None:
    import pickle

    canary, file = tmp_path / "sings", tmp_path / "file"
    contents = [pickle.dumps(Canary(canary))]
    torch.save(Canary(canary), file)
    contents.append(file.read_bytes())
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("data.pkl", contents[0])
    contents.append(file.read_bytes())
    for content in contents:
        file.write_bytes(content)
        for command in ("generate", "evaluate", "inspect", "export"):
            out = [f"out={tmp_path}/o.html"] * (command == "export")
            run.fails_in_a_line(4, command, f"checkpoint={file}", *out)
        assert not canary.exists()
    pickle.loads(contents[0])
    assert canary.exists()


def test_a_wav_with_any_header_is_read_or_refused(
    tmp_path: Path, amount: Amount, chance: random.Random
) -> None:
    file = tmp_path / "a.wav"
    soundfile.write(file, np.random.default_rng(0).uniform(-0.5, 0.5, 3000), 8000)
    content = file.read_bytes()
    numbers = amount(40, 400)
    for _ in numbers:
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(48)] = chance.choice([0, 1, 127, 128, 255])
        file.write_bytes(damaged[: chance.choice([len(content), 44, 1000])])
        data = DataConfig(kind="audio", path=[str(file)], sample_rate=8000)
        with contextlib.suppress(DataError):
            load_corpus(data, Session(Catalogue(), lambda said: None))


@pytest.mark.thorough
def test_any_recipe_is_read_or_refused(
    trained: Path, tmp_path: Path, amount: Amount, chance: random.Random
) -> None:
    content = (trained / "config.yaml").read_bytes()
    numbers = amount(60, 600)
    for _ in numbers:
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 5)):
            place = chance.randrange(len(damaged))
            piece = chance.choice([b"\0", b"\xff", b"[", b"{", b": ", b"&a", b"*a", b"!!python/x"])
            damaged[place : place + chance.randint(0, 3)] = piece
        (tmp_path / "own.yaml").write_bytes(damaged)
        try:
            compose.compose(["recipe=own"], [tmp_path])
        except ConfigError as error:
            assert "\n" not in str(error)


def test_a_recording_with_anything_in_its_header_is_read_or_refused(
    tmp_path: Path, amount: Amount, chance: random.Random
) -> None:
    file, names = tmp_path / "a.wav", ("rf64.wav", "sony.w64", "mac.aiff", "sun.au", "flac24.flac")
    whole = [odd.content() for odd in FILES if odd.name in ("pcm16.wav", "mp3_called.wav", *names)]
    read = 0
    for number in amount(60, 3000):
        damaged = bytearray(whole[number % len(whole)])
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(100)] = chance.choice((0, 1, 127, 128, 255))
        file.write_bytes(damaged)
        with contextlib.suppress(DataError):
            read += sum(len(frames) for frames in SoundReader(file).all_channels()) > 0
    assert read
