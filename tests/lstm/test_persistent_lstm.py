"""The persistent layer computes the equations, the same to the bit every time, and never hangs.

In clusters on a Hopper GPU, and without them as on four cards that the GPU at hand stands for.
"""

from collections.abc import Iterator

import pytest
import torch

from seqkit.lstm import launch
from seqkit.lstm.launch import Card, LayerKernels, Tiling
from seqkit.lstm.layers import PERSISTENT
from tests.lstm.lstm_case import (
    GPU,
    RESULTS,
    ROUNDED,
    Case,
    check_a_mute_block,
    distances,
    random_shape,
)

KB = 1024
H100 = Card("H100", (9, 0), 132, 227 * KB, "sm_90a")
A100 = Card("A100", (8, 0), 108, 163 * KB, "compute_80")
RTX_3060 = Card("RTX 3060", (8, 6), 28, 99 * KB, "compute_80")
RTX_4090 = Card("RTX 4090", (8, 9), 128, 99 * KB, "compute_80")
CARDS = [H100, A100, RTX_3060, RTX_4090]


@pytest.mark.parametrize(
    ("about", "hidden", "lanes", "expected"),
    [
        (H100, 512, 128, Tiling(16, 8, 8)),
        (H100, 1024, 128, Tiling(32, 4, 4)),
        (A100, 1024, 128, Tiling(8, 16, 3)),
        (RTX_3060, 512, 32, Tiling(32, 1, 1)),
        (RTX_3060, 1024, 32, None),
    ],
)
def test_sizes_are_those_that_a_card_has_room_for(
    about: Card,
    hidden: int,
    lanes: int,
    expected: Tiling | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "card", lambda device: about)
    assert LayerKernels(GPU, hidden, torch.float16, True).tiling(lanes) == expected


@pytest.mark.parametrize("about", CARDS)
@pytest.mark.parametrize("lanes", [1, 8, 25, 300, 5000])
@pytest.mark.parametrize("hidden", [64, 320, 512, 768])
def test_every_lane_has_a_place_and_every_block_a_multiprocessor(
    about: Card, lanes: int, hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "card", lambda device: about)
    kernels = LayerKernels(GPU, hidden, torch.float16, True)
    if (found := kernels.tiling(lanes)) is None:
        assert hidden == 768
        return
    assert (found.tiles - 1) * found.lanes < lanes <= found.tiles * found.lanes
    assert 1 <= found.groups <= found.tiles
    assert found.groups * kernels.blocks <= about.multiprocessors


@pytest.fixture(params=[None, *CARDS], ids=lambda about: about.name if about else "clusters")
def grid(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether the kernel without clusters runs: on a card that the GPU at hand stands for."""
    found: Card | None = request.param
    if found and torch.cuda.is_available():  # the tests' GPU may be no Hopper
        real = launch.card(GPU)
        if found is H100:
            found = real
        elif real.shared < found.shared or real.multiprocessors < found.multiprocessors:
            pytest.skip(f"{real.name} is smaller than {found.name}")
    if found:
        monkeypatch.setattr(launch, "card", lambda device: found)
    yield found is not None


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_equations(grid: bool, seed: int, dtype: torch.dtype) -> None:
    if dtype == torch.bfloat16 and not grid:
        pytest.skip("in clusters it computes in fp16")
    shape = random_shape(torch.Generator().manual_seed(seed))
    case = Case(seed, shape, symbols=seed % 2 == 1, share=0.03 * (seed % 3), dtype=dtype)
    found = distances(case.persistent(grid=grid), case.exact())
    assert max(found.values()) < ROUNDED[dtype], (shape, found)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1, 1, 64), (2, 300, 128), (3, 9, 512), (600, 30, 384)])
def test_it_is_as_exact_as_cudnn(grid: bool, shape: tuple[int, int, int]) -> None:
    case = Case(3, shape, symbols=False, share=0.0)
    exact = case.exact()
    ours, theirs = distances(case.persistent(grid=grid), exact), distances(case.cudnn(), exact)
    for name in RESULTS:
        assert ours[name] < 1.5 * theirs[name] + 1e-4, (name, ours, theirs)


@pytest.mark.gpu
@pytest.mark.parametrize("tile", launch.TILES)
@pytest.mark.parametrize("hidden", [64, 320, 512, 768, 1024])
def test_every_tile_and_several_rounds(
    grid: bool, tile: int, hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "TILES", (tile,))
    kernels = LayerKernels(GPU, hidden, torch.float16, grid)
    if not (kernels.tiling(8) if grid else hidden <= PERSISTENT["persistent"]):
        pytest.skip("there is no room for it")
    case = Case(tile, (5, 9 * tile + 3, hidden), symbols=False, share=0.1)
    found = distances(case.persistent(grid=grid), case.exact())
    assert max(found.values()) < ROUNDED[torch.float16], (tile, hidden, found)


@pytest.mark.gpu
@pytest.mark.parametrize(("lanes", "hidden"), [(25, 512), (128, 512), (50, 128)])
def test_it_repeats_to_the_bit_in_whatever_memory(grid: bool, lanes: int, hidden: int) -> None:
    case = Case(2, (20, lanes, hidden), symbols=True, share=0.05)
    first = case.persistent(grid=grid)
    for run in range(200):
        if run % 50 == 0:
            rows = torch.full((1 << 28,), torch.nan, device=GPU)
            del rows  # the allocator hands this memory out again as it is
        found = case.persistent(grid=grid)
        assert all(torch.equal(a, b) for a, b in zip(first, found, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["forward", "backward"])
def test_blocks_that_wait_in_vain_give_up(grid: bool, name: str) -> None:
    forward = "if (!has_piece ||" if grid else "if (!sends ||"
    sending = forward if name == "forward" else "if (number >= H / 16 ||"
    check_a_mute_block(name, sending, grid=grid)
