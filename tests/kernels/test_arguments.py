"""A kernel's arguments are laid out as its source declares them."""

import ctypes
from pathlib import Path

import pytest
import torch

from seqkit.kernels.arguments import Value, filled, parameter_of

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
    names = [name for name, *_ in struct._fields_]
    assert names == [
        *("sources", "strides", "words", "h_in", "c_in", "length", "base"),
        *("beta1", "beta2", "rule"),
    ]
    assert ctypes.sizeof(struct) == 16 + 8 + 8 + 16 + 8 + 4 + 8 + 8 + 4  # and padding at the end
    tensor = torch.zeros(3)
    values: dict[str, Value] = {
        "sources": [tensor, tensor],
        "strides": [3, 4],
        "words": None,
        "h_in": tensor,
    }
    values |= {"c_in": tensor, "length": 1 << 40, "base": 2**32 - 1, "beta1": 0.5, "beta2": 1}
    made = filled(struct, values | {"rule": {"top_p": 0.25, "top_k": 7}})
    assert list(made.sources) == [tensor.data_ptr()] * 2
    assert list(made.strides) == [3, 4]
    assert (made.words, made.h_in) == (None, tensor.data_ptr())
    assert (made.length, made.base, made.beta1, made.beta2) == (1 << 40, 2**32 - 1, 0.5, 1.0)
    assert (made.rule.top_p, made.rule.top_k) == (0.25, 7)


@pytest.mark.parametrize("values", [{}, {"top_p": 1.0}, {"top_p": 1.0, "top_k": 1, "more": 0}])
def test_a_member_too_few_or_too_many_is_refused(values: dict[str, float]) -> None:
    struct = parameter_of("run", SOURCE.replace("const Arguments", "const Rule"), {})
    with pytest.raises(TypeError, match="a kernel takes top_p, top_k"):
        filled(struct, values)


@pytest.mark.parametrize(
    ("kernel", "files", "count"),
    [
        ("lstm_forward", ["model/persistent/forward"], 16),
        ("lstm_backward", ["model/persistent/backward"], 14),
        ("draw_streams", ["generation/engines/draw"], 4),
        ("fused", ["generation/engines/draw", "generation/engines/exchange"], 20),
        ("dropout_masks", ["kernels/masks"], 7),
        ("gather", ["kernels/gather"], 4),
        ("update_parameters", ["training/gpu_update"], 26),
    ],
)
def test_the_sources_of_all_kernels_are_read(kernel: str, files: list[str], count: int) -> None:
    root = Path(__file__).parents[2] / "seqkit"
    source = "".join((root / f"{file}.cu").read_text() for file in files)
    if kernel == "fused":
        source += (root / "generation/engines/fused.cu").read_text()
    assert len(parameter_of(kernel, source, {"COUNT": 3})._fields_) == count
