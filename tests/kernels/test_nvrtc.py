"""A kernel is compiled from texts and files, sees its constants, and reports what went wrong."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from seqkit.foundation.errors import DeviceError
from seqkit.kernels import nvrtc
from seqkit.kernels.nvrtc import Kernel, Value, compiled, filled, parameter_of

SOURCE = """
struct Rule {
  float top_p;  // 1: all, or
  int top_k;
};
struct Arguments {
  const void *sources[COUNT];
  int strides[COUNT];  // of rows; in elements
  const unsigned int *const *words;
  const float *h_in, *c_in;
  long long length;
  unsigned base;
  float beta1, beta2;
  Rule rule;
};
extern "C" __global__ void __launch_bounds__(256) run(const Arguments a) {
"""


def test_members_have_the_order_and_the_types_of_the_source() -> None:
    struct = parameter_of("run", SOURCE, {"COUNT": 2})
    assert struct.names == (
        *("sources", "strides", "words", "h_in", "c_in", "length", "base"),
        *("beta1", "beta2", "rule"),
    )
    assert struct.itemsize == 16 + 8 + 8 + 16 + 8 + 4 + 8 + 8 + 4  # and padding at the end
    tensor = torch.zeros(3)
    values: dict[str, Value] = {
        "sources": [tensor, tensor],
        "strides": [3, 4],
        "words": None,
        "h_in": tensor,
    }
    values |= {"c_in": tensor, "length": 1 << 40, "base": 2**32 - 1, "beta1": 0.5, "beta2": 1}
    made = filled(struct, values | {"rule": {"top_p": 0.25, "top_k": 7}})
    found = dict(zip(struct.names, made.tolist(), strict=True))
    assert found["sources"].tolist() == [tensor.data_ptr()] * 2
    assert found["strides"].tolist() == [3, 4]
    assert (found["words"], found["h_in"]) == (0, tensor.data_ptr())
    assert (found["length"], found["base"]) == (1 << 40, 2**32 - 1)
    assert (found["beta1"], found["beta2"], found["rule"]) == (0.5, 1.0, (0.25, 7))


@pytest.mark.parametrize("values", [{}, {"top_p": 1.0}, {"top_p": 1.0, "top_k": 1, "more": 0}])
def test_a_member_too_few_or_too_many_is_refused(values: dict[str, float]) -> None:
    struct = parameter_of("run", SOURCE.replace("const Arguments", "const Rule"), {})
    with pytest.raises(TypeError, match="a kernel takes top_p, top_k"):
        filled(struct, values)


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


@pytest.mark.gpu
def test_two_kernels_of_one_source_are_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path))
    names: list[str] = []

    def noted(name: str, source: str, options: Sequence[str]) -> bytes:
        names.append(name)
        return compiled(name, source, options)

    monkeypatch.setattr(nvrtc, "compiled", noted)
    values = torch.zeros(32, device="cuda")
    both = STRUCT + ADD + ADD.replace("add", "add_again")
    for name in ("add", "add_again"):
        kernel = Kernel(name, sources=[both], constants={"ADDED": 3}, device=values.device)
        kernel.launch({"values": values}, blocks=1, threads=32)
    assert values.tolist() == [6.0] * 32
    assert names == ["add"]


@pytest.mark.gpu
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
