"""Files come back to the byte, and nothing else does."""

import io
import json
import struct
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import seqkit
from seqkit.compression import coder, contents
from seqkit.compression.container import MARK, Reader
from seqkit.foundation.errors import CheckpointError, ConfigError, DataError
from tests.conftest import SENTENCE, environment

TEXT = SENTENCE.encode() * 60
ODD = [b"", b"t", b"Q", b"\0\0\0", b"\xff\xfe", b"\xef\xbb\xbfthe rain\r\n", bytes(range(256)) * 9]


@pytest.fixture(scope="module")
def model(trained: Path) -> "seqkit.Model[str]":
    return seqkit.load(trained, device="cpu")


@pytest.mark.parametrize("content", [*ODD, TEXT, TEXT + b"\xff" + TEXT[:77]])
def test_the_very_same_bytes_come_back(model: "seqkit.Model[str]", content: bytes) -> None:
    assert model.decompress(model.compress(content)) == content


def test_the_size_is_what_the_model_says(model: "seqkit.Model[str]") -> None:
    packed = model.compress(TEXT)
    bits = float(model.nats(TEXT.decode()).sum()) / np.log(2)
    assert len(packed) <= 1.02 * bits / 8 + 400
    assert len(packed) < len(TEXT) / 8


def test_what_the_model_does_not_expect_is_no_larger_than_lzma_makes_it(
    model: "seqkit.Model[str]",
) -> None:
    content = b"nniitt.." * 1000
    packed = model.compress(content)
    assert len(packed) < 300
    assert model.decompress(packed) == content


def test_several_blocks_and_lanes_come_back(
    model: "seqkit.Model[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "BLOCK", 1000)
    monkeypatch.setattr(coder, "MOST_WAYS", 4)
    content = TEXT * 8  # 16 lanes
    packed = model.compress(content)
    assert Reader(io.BytesIO(packed), "packed").header.lanes == 16
    assert model.decompress(packed) == content


def test_damage_at_any_byte_is_told(model: "seqkit.Model[str]") -> None:
    packed = model.compress(b"the rain \xe2\x82\xac in spain\n")
    for place in range(len(packed)):
        damaged = bytearray(packed)
        damaged[place] ^= 1 << place % 8
        with pytest.raises((DataError, CheckpointError)):
            model.decompress(bytes(damaged))


def test_a_file_that_is_cut_short_or_goes_on_is_told(model: "seqkit.Model[str]") -> None:
    packed = model.compress(b"the rain in spain\n")
    for length in range(len(packed)):
        with pytest.raises(DataError):
            model.decompress(packed[:length])
    for more in (b"\0", b"x" * 100, packed):
        with pytest.raises(DataError):
            model.decompress(packed + more)


def forged(packed: bytes, **changes: object) -> bytes:
    """A file whose header says something else, with digests that are right."""
    length = struct.unpack_from("<H", packed, 8)[0]
    names = list(Reader(io.BytesIO(packed), "packed").header.__dataclass_fields__)
    values = dict(zip(names, json.loads(packed[10 : 10 + length]), strict=True)) | changes
    header = json.dumps([*values.values()]).encode()
    content = packed[:8] + struct.pack("<H", len(header)) + header + packed[10 + length : -16]
    return content + sha256(content).digest()[:16]


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"model": "0" * 32}, CheckpointError, "another checkpoint"),
        ({"probe": "0" * 16}, CheckpointError, "arithmetic"),
        ({"dtype": "bf16"}, CheckpointError, "arithmetic"),
        ({"device": "NVIDIA H200"}, CheckpointError, "takes device=cuda"),
        ({"lanes": 3}, DataError, "header"),
        ({"lanes": 1 << 40}, DataError, "header"),
        ({"threads": 1 << 40}, DataError, "header"),
        ({"kind": 7}, DataError, "header"),
    ],
)
def test_what_has_to_agree_is_compared(
    model: "seqkit.Model[str]",
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, object],
    error: type[Exception],
    words: str,
) -> None:
    monkeypatch.setattr("seqkit.compression.compress.choose_precision", lambda *_: "fp32")
    packed = model.compress(TEXT)
    assert model.decompress(forged(packed)) == TEXT
    with pytest.raises(error, match=words):
        model.decompress(forged(packed, **changes))


def test_arithmetic_that_changes_after_the_probe_is_told(
    model: "seqkit.Model[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = model.compress(TEXT)
    probe = Reader(io.BytesIO(packed), "packed").header.probe
    monkeypatch.setattr("seqkit.compression.compress._probe", lambda _: probe)
    real = coder.bounds_of
    monkeypatch.setattr(coder, "bounds_of", lambda logits: real(logits * 1.001))
    with pytest.raises(CheckpointError, match="arithmetic"):
        model.decompress(packed)


def test_lengths_that_cannot_be_true_are_refused_before_anything_is_made(
    model: "seqkit.Model[str]",
) -> None:
    packed = model.compress(TEXT)
    begin = 10 + struct.unpack_from("<H", packed, 8)[0]
    for place in range(4):
        changed = bytearray(packed[:-16])
        struct.pack_into("<I", changed, begin + 4 * place, 2**32 - 1)
        with pytest.raises(DataError, match="cannot be true"):
            model.decompress(bytes(changed) + sha256(changed).digest()[:16])


def test_another_format_is_named(model: "seqkit.Model[str]") -> None:
    packed = model.compress(b"t")
    content = MARK + b"\x02" + packed[8:-16]
    with pytest.raises(CheckpointError, match="format 2"):
        model.decompress(content + sha256(content).digest()[:16])


def test_only_bytes_are_taken(model: "seqkit.Model[str]") -> None:
    with pytest.raises(ConfigError, match="content"):
        model.compress("a text")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no file that seqkit compressed"):
        model.decompress(b"the rain in spain")


THREADS = """
import sys, torch, seqkit
model = seqkit.load(sys.argv[1], device="cpu")
content = sys.argv[2].encode() * 13  # as little as is worth more than one thread
torch.set_num_threads(2)
packed = model.compress(content)
torch.set_num_threads(1)
assert model.decompress(packed) == content
assert torch.get_num_threads() == 1
sys.stdout.buffer.write(packed)
"""


@pytest.mark.thorough
def test_the_number_of_threads_is_the_encoders_and_is_given_back(trained: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", THREADS, str(trained), TEXT.decode()],
        env={**environment(), "GOMP_SPINCOUNT": "1000"},  # other tests use the second core
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert Reader(io.BytesIO(done.stdout), "packed").header.threads == 2


@pytest.mark.gpu
def test_a_gpu_gives_back_the_very_same_bytes(trained: Path) -> None:
    gpu = seqkit.load(trained, device="cuda")
    for content in (*ODD, TEXT, TEXT * 300 + b"\xff"):
        packed = gpu.compress(content)
        assert gpu.decompress(packed) == content
    with pytest.raises(CheckpointError, match="takes device=cuda"):
        seqkit.load(trained, device="cpu").decompress(packed)
