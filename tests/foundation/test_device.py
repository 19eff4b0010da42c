"""What is set up for the whole process."""

import ctypes
import platform

import pytest

from seqkit.foundation import device
from seqkit.foundation.errors import DeviceError


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc that is told")
def test_the_c_library_is_told_to_keep_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []

    class Library:
        def __init__(self, accepts: bool) -> None:
            self._accepts = accepts

        def mallopt(self, option: int, value: int) -> int:
            told.append((option, value))
            return int(self._accepts)

    assert ctypes.CDLL(None).mallopt  # the real one has it
    for accepts, options in ((True, [-3, -1]), (False, [-3])):
        monkeypatch.setattr(ctypes, "CDLL", lambda name, accepts=accepts: Library(accepts))
        told.clear()
        device._keep_memory()
        assert [option for option, _ in told] == options


@pytest.mark.parametrize("name", ["mps", "mps:0"])
def test_a_mac_s_gpu_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(DeviceError, match=r"wrong results .* give device=cpu"):
        device.choose_device(name)
