"""A kernel is compiled from texts and files, sees its constants, and reports what went wrong."""

import sys
from pathlib import Path

import pytest
import torch

from seqkit.foundation.errors import DeviceError
from seqkit.kernels import nvrtc
from seqkit.kernels.nvrtc import Kernel, compiled, parameter_of


@pytest.mark.parametrize(
    ("kernel", "files", "count"),
    [
        ("lstm_forward", ["model/persistent_lstm/forward"], 17),
        ("lstm_backward", ["model/persistent_lstm/backward"], 15),
        ("draw_streams", ["generation/engines/draw"], 4),
        ("dropout_masks", ["training/dropout_masks"], 7),
        ("gather", ["kernels/gather"], 4),
        ("update_parameters", ["training/gpu_update"], 26),
    ],
)
def test_the_sources_of_all_kernels_are_read(kernel: str, files: list[str], count: int) -> None:
    root = Path(__file__).parents[2] / "seqkit"
    source = "".join((root / f"{file}.cu").read_text() for file in files)
    assert len(parameter_of(kernel, source, {"COUNT": 3}).names or ()) == count


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
    with pytest.raises(DeviceError, match=r"NVRTC cannot compile with --gpu.*_90a: add\.cu\(8\)"):
        compiled("add", STRUCT + ADD + "!", options)


def test_without_cuda_bindings_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    nvrtc._libraries.cache_clear()
    with pytest.raises(DeviceError, match=r"without NVRTC or cuda\.bindings"):
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
