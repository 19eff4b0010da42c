"""A kernel is compiled from texts and files, and kept as it is, whatever became of the cache."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from seqkit.lstm import nvrtc
from seqkit.lstm.nvrtc import Kernel, KernelError, cached, compiled, parameter_of
from tests.conftest import environment


@pytest.mark.parametrize(
    ("kernel", "files", "count"),
    [
        ("lstm_forward", ["lstm/forward"], 17),
        ("lstm_backward", ["lstm/backward"], 15),
        ("draw_streams", ["generation/engines/draw"], 4),
        ("dropout_masks", ["training/dropout_masks"], 7),
        ("update_parameters", ["training/gpu_update"], 23),
    ],
)
def test_the_sources_of_all_kernels_are_read(kernel: str, files: list[str], count: int) -> None:
    root = Path(__file__).parents[2] / "seqkit"
    source = "".join((root / f"{file}.cu").read_text() for file in files)
    assert len(parameter_of(kernel, source).names or ()) == count


STRUCT = "struct Arguments {\n  float *values;\n};\n"
ADD = """
extern "C" __global__ void add(Arguments arguments) {
    arguments.values[blockIdx.x * blockDim.x + threadIdx.x] += ADDED;
}
"""


def test_code_that_does_not_compile_is_named() -> None:
    pytest.importorskip("cuda.bindings")
    options = ["--gpu-architecture=sm_90a", "-DADDED=3"]
    assert compiled("add", STRUCT + ADD, options).startswith(b"\x7fELF")
    with pytest.raises(KernelError, match=r"NVRTC cannot compile with --gpu.*_90a: add\.cu\(8\)"):
        compiled("add", STRUCT + ADD + "!", options)


def test_without_cuda_bindings_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    nvrtc._libraries.cache_clear()
    with pytest.raises(KernelError, match=r"without NVRTC or cuda\.bindings"):
        compiled("add", STRUCT + ADD, [])


@pytest.mark.gpu
def test_a_kernel_of_a_text_and_a_file_runs(tmp_path: Path) -> None:
    (tmp_path / "add.cu").write_text(ADD)
    device = torch.device("cuda", 0)
    sources: list[Path | str] = [STRUCT, tmp_path / "add.cu"]
    kernel = Kernel("add", sources=sources, constants={"ADDED": 3}, device=device)
    values = torch.zeros(64, device=device)
    kernel.launch({"values": values}, blocks=2, threads=32)
    assert values.tolist() == [3.0] * 64


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two GPUs")
def test_on_another_gpu_than_the_current_one_it_waits_for_its_own_stream() -> None:
    """That of the other GPU, which has much to do before."""
    other = torch.device("cuda", 1)
    kernel = Kernel("add", sources=[STRUCT + ADD], constants={"ADDED": 3}, device=other)
    values, large = torch.zeros(64, device=other), torch.ones(8192, 8192, device=other)
    torch.cuda.synchronize(other)
    for stream in (torch.cuda.default_stream(other), torch.cuda.Stream(other)):  # type: ignore[no-untyped-call]
        with torch.cuda.stream(stream):
            for _ in range(20):
                large = large @ large
            values.fill_(1)
            with torch.cuda.device(0):
                kernel.launch({"values": values}, blocks=2, threads=32)
            assert values.tolist() == [4.0] * 64
    assert torch.cuda.current_device() == 0


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


@pytest.mark.thorough
def test_processes_may_write_at_once(cache: Path) -> None:
    """Each finds whole code, however often all of them make entries anew."""
    program = (
        "import sys\n"
        "from seqkit.foundation import disk\n"
        "from seqkit.lstm.nvrtc import cached\n"
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
