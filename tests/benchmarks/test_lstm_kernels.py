"""Every kernel that runs here has a row."""

from benchmarks import lstm_kernels


def test_each_kernel_has_a_row() -> None:
    lines = lstm_kernels.table(["shape=toy", "device=cpu"], rounds=1, calls=3).splitlines()[1:]
    names = [line[:36].strip() for line in lines]
    assert names[0].startswith("plain_best")
    assert names[1:] == ["seqkit", "seqkit_forward_backward", "bare"]
