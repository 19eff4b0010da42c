"""The driver is asked for the GPU that will be used, and for nothing where there is none."""

import ctypes
import threading

import pytest

from seqkit.foundation import driver


class Driver:
    """A library with so many GPUs; `asked` has the calls that succeeded."""

    def __init__(self, count: int) -> None:
        self.asked: list[str] = []
        self._count = count

    def cuInit(self, flags: int) -> int:  # noqa: N802
        self.asked.append(f"init {flags}")
        return 0 if self._count else 100

    def cuDeviceGet(self, device: object, number: int) -> int:  # noqa: N802
        if number >= self._count:
            return 101
        device._obj.value = number  # type: ignore[attr-defined]
        self.asked.append(f"get {number}")
        return 0

    def cuDevicePrimaryCtxRetain(self, context: object, device: ctypes.c_int) -> int:  # noqa: N802
        self.asked.append(f"retain {device.value}")
        return 0


def asked(monkeypatch: pytest.MonkeyPatch, device: str, rank: int = 0, count: int = 4) -> list[str]:
    library = Driver(count)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    before = {*threading.enumerate()}
    driver.wake(device, rank)
    for thread in {*threading.enumerate()} - before:
        thread.join()
    return library.asked


@pytest.mark.parametrize(
    ("device", "rank", "number"),
    [("auto", 0, 0), ("cuda", 0, 0), ("auto", 3, 3), ("cuda:2", 0, 2), ("cuda:0", 3, 0)],
)
def test_the_gpu_that_is_named_is_set_up(
    monkeypatch: pytest.MonkeyPatch, device: str, rank: int, number: int
) -> None:
    wanted = ["init 0", f"get {number}", f"retain {number}"]
    assert asked(monkeypatch, device, rank) == wanted


@pytest.mark.parametrize("device", ["cpu", "mps", "cuda:x", "cuda:-1", "cuda:²", ""])
def test_no_other_device_wakes_it(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    assert asked(monkeypatch, device) == []


def test_a_gpu_that_is_not_there_is_left_to_whoever_chooses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert asked(monkeypatch, "cuda:4") == ["init 0"]
    assert asked(monkeypatch, "auto", count=0) == ["init 0"]


def test_without_a_driver_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    driver._set_up(0)
