"""Without a checkpoint, too, files come back to the byte, and small ones."""

import io
import lzma
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from seqkit.compression import compress, contents, mixing
from seqkit.compression.coder import BlockCoder
from seqkit.compression.container import Reader
from seqkit.compression.fresh import Fresh
from seqkit.foundation.errors import CheckpointError, DataError
from tests.conftest import Run, environment

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "compression.md").read_bytes()
BOOK = b"".join(page.read_bytes() for page in sorted((DOCS / "tutorials").glob("*.md")))[:40_000]
NOISE = np.random.default_rng(1).integers(0, 256, 60_000, np.uint8).tobytes()
PROGRAM = Path(sys.executable).read_bytes()[:6000]


def packed_of(content: bytes) -> bytes:
    pieces: list[bytes] = []
    compress.compress(Fresh.of([content]), [content], len(content), pieces.append)
    return b"".join(pieces)


def unpacked(packed: bytes) -> bytes:
    reader = Reader(io.BytesIO(packed), "packed")
    assert Fresh.made(reader.header)
    return b"".join(compress.decompress(Fresh(reader.header.model), reader))


@pytest.mark.parametrize(
    "content", [b"", b"t", b"\xff", b"ab", b"a" * 3000, bytes(range(256)) * 3, PAGE, PROGRAM]
)
def test_the_very_same_bytes_come_back(content: bytes) -> None:
    packed = packed_of(content)
    assert unpacked(packed) == content
    assert len(packed) <= len(content) + 300


def test_text_becomes_smaller_than_lzma_makes_it() -> None:
    xz = lzma.compress(BOOK, preset=9 | lzma.PRESET_EXTREME)
    assert len(packed_of(BOOK)) < 0.9 * len(xz)


def test_random_bytes_hardly_grow() -> None:
    assert len(packed_of(NOISE)) <= 1.001 * len(NOISE) + 300


def test_each_lane_learns_its_own_subject() -> None:
    """After a word that all lanes have, a lane always has the same letter, and each another."""
    draw = np.random.default_rng(2)
    units = draw.integers(97, 105, (8, 200, 7)).astype(np.uint8)  # 11,200 bytes: 8 lanes
    units[:, :, 2:6] = np.frombuffer(b"was ", np.uint8)
    others = len(packed_of(units.tobytes()))
    units[:, :, 6] = 97 + np.arange(8)[:, None]
    assert len(packed_of(units.tobytes())) < others - 440
    assert unpacked(packed_of(units.tobytes())) == units.tobytes()


def test_what_kind_of_byte_comes_next_is_learnt() -> None:
    """Two words and a number in turn, in place of any order."""
    draw = np.random.default_rng(3)
    words = ["".join(map(chr, draw.integers(97, 105, draw.integers(3, 7)))) for _ in range(1200)]
    tokens = [word if index % 3 else str(100 + index) for index, word in enumerate(words)]
    in_turn = " ".join(tokens).encode()
    draw.shuffle(tokens)
    assert len(packed_of(in_turn)) < len(packed_of(" ".join(tokens).encode())) - 170


def test_learning_goes_on_from_block_to_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "BLOCK", 2000)
    packed = packed_of(PAGE[:2000] * 2)
    sizes = [block.size for block in Reader(io.BytesIO(packed), "").blocks(16 >> 2)]
    assert sizes[1] < 0.5 * sizes[0]
    assert unpacked(packed) == PAGE[:2000] * 2
    mixed = PAGE[:2000] + NOISE[:2000] + PAGE[:2100]
    assert unpacked(packed_of(mixed)) == mixed


def test_counts_that_are_full_are_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    halved = packed_of(b"ab" * 4000 + PAGE[:500])
    assert unpacked(halved) == b"ab" * 4000 + PAGE[:500]


def test_damage_at_any_byte_is_told() -> None:
    packed = packed_of(PAGE[:300])
    for place in range(0, len(packed), 3):
        damaged = bytearray(packed)
        damaged[place] ^= 1 << place % 8
        with pytest.raises((DataError, CheckpointError)):
            unpacked(bytes(damaged))


def test_other_arithmetic_is_told_before_anything_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = packed_of(PAGE[:3000])
    real = mixing._exp2
    monkeypatch.setattr(mixing, "_exp2", lambda bits: real(bits * 1.001))
    monkeypatch.setattr(BlockCoder, "decode", None)
    with pytest.raises(CheckpointError, match="arithmetic"):
        unpacked(packed)


def test_a_header_that_names_no_bytes_is_refused() -> None:
    for name in ("bytes2:0", "bytes2:zz", f"bytes2:{'ff' * 33}"):
        with pytest.raises(DataError, match="header"):
            Fresh(name)


def test_a_file_of_another_version_is_refused() -> None:
    with pytest.raises(CheckpointError, match="compressed as bytes, and this seqkit reads bytes2"):
        Fresh(f"bytes:{'ff' * 32}")


def test_a_file_that_changes_meanwhile_is_left_to_lzma() -> None:
    pieces: list[bytes] = []
    compress.compress(Fresh.of([b"abc"]), [b"abcd\xff"], 5, pieces.append)
    assert unpacked(b"".join(pieces)) == b"abcd\xff"


def test_the_tables_are_about_as_exact_as_floats() -> None:
    bits = np.linspace(-40, 0, 999)
    assert np.allclose(mixing._exp2(bits), np.exp2(bits), rtol=2e-4)
    assert np.allclose(mixing._log2(np.exp2(bits)), bits, atol=2e-4)


def test_two_processes_make_the_same_file_and_give_it_back(tmp_path: Path) -> None:
    (tmp_path / "page").write_bytes(PAGE)
    for words in (
        ["compress", "data.path=page", "out=1.sq"],
        ["compress", "data.path=page", "out=2.sq"],
        ["decompress", "data.path=1.sq", "out=again"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "seqkit", *words], cwd=tmp_path, env=environment(),
            capture_output=True, check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "1.sq").read_bytes() == (tmp_path / "2.sq").read_bytes()
    assert (tmp_path / "again").read_bytes() == PAGE


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_of_an_interrupted_compression_nothing_is_left(
    sent: signal.Signals, code: int, tmp_path: Path
) -> None:
    (tmp_path / "pages").write_bytes(PAGE * (5_000_000 // len(PAGE)))
    with subprocess.Popen(
        [sys.executable, "-m", "seqkit", "compress", "data.path=pages", "out=a.sq"],
        cwd=tmp_path, env=environment(), stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        process.stderr.readline()  # it has begun to say how far it is
        process.send_signal(sent)
        assert process.wait(60) == code
    assert [file.name for file in tmp_path.iterdir()] == ["pages"]


def test_a_gpu_is_not_asked_for(run: Run, tmp_path: Path) -> None:
    words = [f"data.path={__file__}", f"out={tmp_path / 'a.sq'}"]
    assert "checkpoint" in run.fails(2, "compress", *words, "device=cuda")
    assert "learn=true" in run.fails(2, "compress", *words, "learn=true")
