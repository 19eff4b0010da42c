"""Both sides learn the same, so that files come back, and smaller ones than without."""

import io
import json
import struct
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

import seqkit
from seqkit.compression import compress, contents
from seqkit.compression.container import CodedBlock, Header, Reader
from seqkit.config import DynamicConfig
from seqkit.evaluation.dynamic import Learner
from seqkit.foundation.errors import CheckpointError, ConfigError, DataError
from tests.conftest import SENTENCE, SMALL, Run, environment

LEARN = DynamicConfig(rate=0.002, window=16)
PLAY = " ".join(np.random.default_rng(1).choice(SENTENCE.split(), 400)).encode()


@pytest.fixture(scope="module")
def model(trained: Path) -> "seqkit.Model[str]":
    return seqkit.load(trained, device="cpu")


def header_of(packed: bytes) -> Header:
    return Reader(io.BytesIO(packed), "packed").header


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize(
    "content", [b"", b"t", PLAY, PLAY + b"\xff\0" + PLAY[:99], "the rain \u2603".encode() * 99]
)
def test_the_very_same_bytes_come_back(model: "seqkit.Model[str]", content: bytes) -> None:
    assert model.decompress(model.compress(content, learn=LEARN)) == content


def test_a_rate_that_ruins_the_model_costs_space_alone(model: "seqkit.Model[str]") -> None:
    packed = model.compress(PLAY, learn=DynamicConfig(rate=1.0, decay=0.0, window=8))
    assert model.decompress(packed) == PLAY


def test_what_is_learnt_makes_a_file_smaller(model: "seqkit.Model[str]") -> None:
    before = [own.clone() for own in model.char_rnn.parameters()]
    content = SENTENCE.encode().replace(b"rain", b"tin") * 40
    packed = model.compress(content, learn=LEARN)
    assert header_of(packed).learn == LEARN
    assert len(packed) < 0.9 * len(model.compress(content))
    assert model.decompress(packed) == content
    for own, kept in zip(model.char_rnn.parameters(), before, strict=True):
        assert torch.equal(own, kept)


def test_a_file_of_one_window_is_as_if_nothing_was_asked(model: "seqkit.Model[str]") -> None:
    content = SENTENCE.encode()[: LEARN.window]
    assert model.compress(content, learn=LEARN) == model.compress(content)


@pytest.mark.thorough
def test_learning_goes_on_from_block_to_block_that_the_model_codes(
    model: "seqkit.Model[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "BLOCK", 500)
    play = SENTENCE.encode().replace(b"rain", b"tin") * 36
    noise = b"QZQXKJ" * 84 + b"....."  # LZMA takes these blocks
    for content in (play, noise[:500] + play, play[:1000] + noise[:500] + play):
        packed = model.compress(content, learn=LEARN)
        assert len(blocks(packed)) == -(-len(content) // 500)
        assert model.decompress(packed) == content
    sizes = [block.size for block in blocks(model.compress(play, learn=LEARN))]
    assert sizes[2] < 0.8 * sizes[0]


def blocks(packed: bytes) -> list[CodedBlock]:
    reader = Reader(io.BytesIO(packed), "packed")
    return list(reader.blocks(reader.header.lanes))


def forged(packed: bytes, learn: object) -> bytes:
    """A file whose header says that its model learnt otherwise, with digests that are right."""
    length = struct.unpack_from("<H", packed, 8)[0]
    values = json.loads(packed[10 : 10 + length])
    values[-2] = learn
    header = json.dumps(values).encode()
    content = packed[:8] + struct.pack("<H", len(header)) + header + packed[10 + length : -16]
    return content + sha256(content).digest()[:16]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learn", "error", "words"),
    [
        ([0.002, 0.001, 16], None, ""),
        (None, CheckpointError, "arithmetic"),
        ([0.002, 0.002, 16], CheckpointError, "arithmetic"),
        ([0.002, 0.001, 17], CheckpointError, "arithmetic"),
        ([0.002, 0.001, 1 << 40], DataError, "header"),
        ([-1, 0.001, 16], DataError, "header"),
        ([0.002, float("nan"), 16], DataError, "header"),
        (["0.002", 0.001, 16], DataError, "header"),
    ],
)
def test_how_it_learnt_is_part_of_the_probe(
    model: "seqkit.Model[str]", learn: object, error: type[Exception] | None, words: str
) -> None:
    packed = forged(model.compress(PLAY, learn=LEARN), learn)
    if error is None:
        assert model.decompress(packed) == PLAY
    else:
        with pytest.raises(error, match=words):
            model.decompress(packed)


@pytest.mark.thorough
def test_learning_that_differs_after_the_probe_is_told(
    model: "seqkit.Model[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = model.compress(PLAY, learn=LEARN)
    monkeypatch.setattr(compress, "_probe", lambda _: header_of(packed).probe)
    real = Learner.read
    monkeypatch.setattr(Learner, "read", lambda self, *given: real(self, given[1], *given[1:]))
    with pytest.raises(CheckpointError, match="arithmetic"):
        model.decompress(packed)


@pytest.mark.parametrize("value", [True, {"rate": 1}, DynamicConfig(rate=2.0)])
def test_settings_are_checked(model: "seqkit.Model[str]", value: object) -> None:
    with pytest.raises(ConfigError, match="learn"):
        model.compress(PLAY, learn=value)  # type: ignore[arg-type]


@pytest.mark.thorough
def test_two_processes_give_back_the_file(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "play").write_bytes(PLAY)
    program = [sys.executable, "-m", "seqkit"]
    words = [f"checkpoint={trained}", "device=cpu"]
    packing = ["learn=true", "dynamic.rate=0.002", "dynamic.window=16", "data.path=play", "out=sq"]
    for more in (["compress", *packing], ["decompress", "data.path=sq", "out=again"]):
        done = subprocess.run(
            [*program, more[0], *words, *more[1:]], cwd=tmp_path, env=environment(),
            capture_output=True, check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "again").read_bytes() == PLAY
    assert header_of((tmp_path / "sq").read_bytes()).learn == LEARN


@pytest.mark.thorough
def test_bytes_and_sound_come_back(run: Run, tmp_path: Path) -> None:
    wave = 0.4 * np.sin(np.arange(3000) / 3)
    soundfile.write(tmp_path / "tone.wav", wave, 4000)
    (tmp_path / "play").write_bytes(PLAY)
    for recipe, name, more in (
        ("recipe=shakespeare", "play", ["data.kind=bytes"]),
        ("recipe=wav_generation", "tone.wav", ["data.sample_rate=4000"]),
    ):
        words = [recipe, f"data.path={tmp_path / name}", *SMALL, *more, "train.max_steps=2"]
        folder = tmp_path / f"run_{name}"
        run.ok(*words, f"run_dir={folder}")
        words, source, made = [f"checkpoint={folder}", "device=cpu"], tmp_path / name, []
        for number in (1, 2):
            packed, out = tmp_path / f"{number}.sq", tmp_path / f"{number}.wav"
            files = [f"data.path={source}", f"out={packed}", "overwrite=true"]
            run.ok("compress", *words, *files, "learn=true", "dynamic.window=8")
            assert header_of(packed.read_bytes()).learn is not None
            files = [f"data.path={packed}", f"out={out}", "overwrite=true"]
            run.ok("decompress", *words, *files)
            made.append(out.read_bytes())
            source = out
        assert made[0] == made[1]
        assert name != "play" or made[0] == PLAY


@pytest.mark.gpu
def test_a_gpu_gives_back_the_very_same_bytes(trained: Path) -> None:
    gpu = seqkit.load(trained, device="cuda")
    for content in (PLAY, SENTENCE.encode() * 2000 + b"\xff"):
        packed = gpu.compress(content, learn=LEARN)
        assert gpu.compress(content, learn=LEARN) == packed
        assert gpu.decompress(packed) == content
