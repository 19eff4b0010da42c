"""Machine code that is kept is that of the very kernel, whatever became of the cache."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seqkit.kernels.nvrtc import cached
from tests.conftest import environment

MADE_OF = ["NVRTC 13.0", "add", "--gpu-architecture=sm_90a", "-DH=64", "source"]
CODE = bytes(range(256))


class Compiler:
    """Counts its calls; each gives the same code."""

    def __init__(self, code: bytes = CODE) -> None:
        self.calls = 0
        self._code = code

    def __call__(self) -> bytes:
        self.calls += 1
        return self._code


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache, not there yet."""
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


def test_the_second_process_compiles_nothing(cache: Path) -> None:
    compiler = Compiler()
    assert [cached(MADE_OF, compiler) for _ in range(2)] == [CODE] * 2
    assert compiler.calls == 1
    assert len([*cache.iterdir()]) == 1


@pytest.mark.parametrize("place", range(len(MADE_OF)))
def test_all_that_code_depends_on_tells_entries_apart(cache: Path, place: int) -> None:
    cached(MADE_OF, Compiler())
    others = [*MADE_OF]
    others[place] += "1"
    assert cached(others, Compiler(b"other")) == b"other"
    assert cached(MADE_OF, Compiler(b"not asked")) == CODE


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: bytes([content[0] ^ 1]) + content[1:],
    ],
)
def test_a_damaged_entry_is_made_again(cache: Path, damage: Callable[[bytes], bytes]) -> None:
    cached(MADE_OF, Compiler())
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert cached(MADE_OF, compiler := Compiler()) == CODE
    assert compiler.calls == 1
    assert entry.read_bytes() == whole


def test_where_nothing_can_be_kept_every_process_compiles(cache: Path) -> None:
    cache.parent.write_text("a file in the folder's place")
    compiler = Compiler()
    assert [cached(MADE_OF, compiler) for _ in range(2)] == [CODE] * 2
    assert compiler.calls == 2


def test_processes_may_write_at_once(cache: Path) -> None:
    """Each finds whole code, however often all of them make entries anew."""
    program = (
        "import sys\n"
        "from seqkit.foundation import disk\n"
        "from seqkit.kernels.nvrtc import cached\n"
        "for turn in range(200):\n"
        "    code = bytes([turn % 4]) * 100_000\n"
        "    assert cached([str(turn % 4)], lambda: code) == code\n"
        "    if turn % 4 == 3:\n"
        "        for file in (disk.cache_dir() / 'kernels').glob('*.cubin'):\n"
        "            file.unlink(missing_ok=True)\n"
    )
    command = [sys.executable, "-c", program]
    started = [subprocess.Popen(command, env=environment()) for _ in range(3)]
    assert [process.wait() for process in started] == [0, 0, 0]
    assert [*cache.iterdir()] == []
