"""A kernel is compiled from texts and files, sees its constants, and reports what went wrong."""

from pathlib import Path

import pytest
import torch

from seqkit.foundation.errors import DeviceError
from seqkit.kernels.nvrtc import Kernel

pytestmark = pytest.mark.gpu

STRUCT = "struct Arguments {\n  float *values;\n};\n"
ADD = """
extern "C" __global__ void add(Arguments arguments) {
    arguments.values[blockIdx.x * blockDim.x + threadIdx.x] += ADDED;
}
"""


def test_a_kernel_of_a_text_and_a_file_runs(tmp_path: Path) -> None:
    (tmp_path / "add.cu").write_text(ADD)
    device = torch.device("cuda", 0)
    sources: list[Path | str] = [STRUCT, tmp_path / "add.cu"]
    kernel = Kernel("add", sources=sources, constants={"ADDED": 3}, device=device)
    values = torch.zeros(64, device=device)
    kernel.launch({"values": values}, blocks=2, threads=32)
    assert values.tolist() == [3.0] * 64


def test_code_that_does_not_compile_is_named() -> None:
    with pytest.raises(DeviceError, match=r"NVRTC cannot compile .*add\.cu"):
        Kernel("add", sources=[STRUCT + ADD + "!"], constants={}, device=torch.device("cuda", 0))


def test_blocks_run_in_clusters() -> None:
    """On a GPU of capability 9.0 or above."""
    device = torch.device("cuda", 0)
    text = (
        STRUCT
        + """
extern "C" __global__ void place(Arguments arguments) {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    arguments.values[blockIdx.x] = rank;
}
"""
    )
    kernel = Kernel("place", sources=[text], constants={}, device=device, exact=True)
    kernel.reserve(1024, large_clusters=True)
    values = torch.zeros(8, device=device)
    kernel.launch({"values": values}, blocks=8, threads=1, cluster=4)
    assert values.tolist() == [0, 1, 2, 3] * 2
    assert kernel.clusters_at_once(cluster=4, threads=1, shared=1024) > 1
    assert kernel.clusters_at_once(cluster=64, threads=1, shared=1024) == 0
