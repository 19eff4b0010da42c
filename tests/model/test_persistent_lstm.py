"""The persistent layer computes the equations, the same to the bit every time, and never hangs."""

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from seqkit.foundation.errors import DeviceError
from seqkit.model.persistent_lstm import launch
from seqkit.model.persistent_lstm.launch import Tiling, tiling
from tests.model.lstm_case import (
    GPU,
    RESULTS,
    ROUNDED,
    Case,
    check_a_mute_block,
    distances,
    random_shape,
)

HALF = ROUNDED[torch.float16]


@pytest.mark.parametrize("at_once", [1, 7, 15, 66])
@pytest.mark.parametrize("lanes", [1, 7, 8, 25, 128, 300, 5000])
def test_every_lane_has_a_place(lanes: int, at_once: int) -> None:
    found = tiling(lanes, at_once)
    assert (found.tiles - 1) * found.lanes < lanes <= found.tiles * found.lanes
    assert 1 <= found.clusters <= min(at_once, found.tiles)


@pytest.mark.parametrize(
    ("lanes", "expected"),
    [
        (25, Tiling(8, 4, 4)),
        (56, Tiling(8, 7, 7)),
        (112, Tiling(16, 7, 7)),
        (128, Tiling(24, 6, 6)),
    ],
)
def test_lanes_are_shared_out_to_take_the_least_time(lanes: int, expected: Tiling) -> None:
    assert tiling(lanes, 7) == expected


@pytest.mark.parametrize(
    ("hidden", "lanes", "tile", "found", "clusters"),
    [(384, 32, 8, 7, 7), (512, 112, 16, 7, 7), (512, 64, 16, 0, 0), (128, 64, 8, 90, 33)],
)
def test_the_kernel_that_will_run_is_asked_how_many_clusters_fit(
    monkeypatch: pytest.MonkeyPatch, hidden: int, lanes: int, tile: int, found: int, clusters: int
) -> None:
    """Of a GPU with 132 multiprocessors; no other kernel is compiled."""
    compiled: list[object] = []

    def kernel(*given: object) -> SimpleNamespace:
        compiled.append(given)
        return SimpleNamespace(clusters_at_once=lambda **launched: found)

    about = SimpleNamespace(multi_processor_count=132)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: about)
    monkeypatch.setattr(launch, "_kernel", kernel)
    device = torch.device("cuda", 63)  # of which nothing is remembered
    assert launch.clusters_at_once(device, hidden, lanes) == clusters
    assert compiled == [("forward", device, hidden, tile)]
    assert tiling(lanes, max(clusters, 1)).lanes == tile or not clusters


@pytest.mark.parametrize("failing", [None, "forward", "backward"])
def test_both_kernels_are_compiled_before_a_training(
    monkeypatch: pytest.MonkeyPatch, failing: str | None
) -> None:
    compiled, devices = set(), list[torch.device]()

    def kernel(name: str, *given: object) -> SimpleNamespace:
        if name == failing:
            raise DeviceError("no NVRTC")
        compiled.add((name, *given))
        return SimpleNamespace(clusters_at_once=lambda **launched: 7)

    about = SimpleNamespace(multi_processor_count=132, major=9, minor=0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: about)
    monkeypatch.setattr(launch, "_kernel", kernel)
    monkeypatch.setattr(torch.cuda, "set_device", devices.append)
    device = torch.device("cuda", 62 if failing is None else 61)
    said = launch.refusal(device, 512, 104 if failing is None else 96)
    if failing is None:
        assert said is None
        assert devices == [device]  # of the thread that compiles beside this one
        assert compiled == {(name, device, 512, 16) for name in ("forward", "backward")}
    else:
        assert said == "does not start: no NVRTC"


def test_a_cpu_is_refused() -> None:
    assert "needs a GPU" in str(launch.refusal(torch.device("cpu"), 512, 8))


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(100))
def test_it_is_the_equations(seed: int) -> None:
    shape = random_shape(torch.Generator().manual_seed(seed))
    case = Case(seed, shape, symbols=seed % 2 == 1, share=0.03 * (seed % 3))
    exact = case.exact()
    found = distances(case.persistent(), exact)
    assert max(found.values()) < HALF, (shape, found)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1, 1, 64), (2, 300, 128), (3, 9, 512), (600, 30, 384)])
def test_it_is_as_exact_as_cudnn(shape: tuple[int, int, int]) -> None:
    case = Case(3, shape, symbols=False, share=0.0)
    exact = case.exact()
    ours, theirs = distances(case.persistent(), exact), distances(case.cudnn(), exact)
    for name in RESULTS:
        assert ours[name] < 1.5 * theirs[name] + 1e-4, (name, ours, theirs)


@pytest.mark.gpu
def test_every_tile_and_several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for tile in launch.TILES:
        monkeypatch.setattr(launch, "TILES", (tile,))
        for hidden in (64, 320, 512):
            case = Case(tile, (5, 17 * tile + 3, hidden), symbols=False, share=0.1)
            found = distances(case.persistent(), case.exact())
            assert max(found.values()) < HALF, (tile, hidden, found)


@pytest.mark.gpu
@pytest.mark.parametrize("lanes", [3, 50, 203])
def test_nothing_is_read_before_it_is_written(lanes: int) -> None:
    case = Case(1, (7, lanes, 256), symbols=True, share=0.1)
    clean = case.persistent()
    rows = torch.full((1 << 28,), torch.nan, device=GPU)
    del rows  # the allocator hands this memory out again as it is
    torch.use_deterministic_algorithms(True, warn_only=True)  # fills new tensors with NaN
    try:
        poisoned = case.persistent()
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(clean, poisoned, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize(("lanes", "hidden"), [(25, 512), (128, 512), (50, 128)])
def test_it_repeats_to_the_bit(lanes: int, hidden: int) -> None:
    case = Case(2, (20, lanes, hidden), symbols=True, share=0.05)
    first: list[Tensor] = []
    differs = torch.zeros((), device=GPU)

    def run() -> None:
        found = case.persistent()
        if not first:
            first.extend(value.clone() for value in found)
        for a, b in zip(first, found, strict=True):
            differs.add_((a != b).any())

    for _ in range(1000):
        run()
    assert float(differs) == 0


@pytest.mark.gpu
def test_it_can_be_recorded() -> None:
    case, again = (Case(4, (9, 40, 192), symbols=False, share=0.1) for _ in range(2))
    pairs = zip(case.recorded(), again.persistent(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "sending"),
    [("forward", "if (!sends ||"), ("backward", "if (number >= H / 16 ||")],
)
def test_blocks_that_wait_in_vain_give_up(name: str, sending: str) -> None:
    check_a_mute_block(name, sending)
