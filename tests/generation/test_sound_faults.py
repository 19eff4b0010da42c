"""The watch over sound: what is trouble, what is not, and what becomes of it."""

from collections.abc import Generator, Iterator

import numpy as np
import pytest

from seqkit.data.codecs import Linear, MuLaw, Quantiser
from seqkit.generation import sound_faults
from seqkit.symbols import Integers, Symbols

RATE = 200
CODEC = MuLaw(256, RATE, 2.0)


def noise(count: int, seed: int = 1) -> Integers:
    return np.random.default_rng(seed).integers(30, 226, count)


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [
        (noise(RATE), None),
        (np.full(RATE, CODEC.start), "silence"),
        (CODEC.start + noise(RATE) % 3, "silence"),
        (np.where(noise(RATE) % 3 == 0, 255, noise(RATE)), "clipping"),
        (np.where(noise(RATE) % 9 == 0, 0, noise(RATE)), None),
        (np.tile(noise(37), 9)[:RATE], "a loop"),
        (np.tile(noise(100), 2), "a loop"),
        (np.tile([60, 190], 100), "a loop"),
        (np.concatenate([noise(10), np.tile(noise(37), 9)])[:RATE], None),
        (np.tile(noise(120), 2)[:RATE], None),
    ],
)
def test_what_is_trouble(symbols: Integers, expected: str | None) -> None:
    assert sound_faults.trouble(symbols.astype(np.int64), CODEC) == expected


def streams() -> Integers:
    """Two streams of seven and a half seconds; the second falls silent after 3.2 seconds."""
    first, second = noise(1500, 1), noise(1500, 2)
    second[640:] = CODEC.start
    return np.stack([first, second], 1)


def blocks(rows: Integers, sizes: int = 64) -> Iterator[Integers]:
    """The rows in blocks, the first one short as a sampler makes it."""
    yield from np.split(rows, range(1, len(rows), sizes))


PROMPT: Symbols = np.full(50, 77, np.uint8)


@pytest.mark.parametrize("sizes", [1, 64, 333, 2000])
def test_trouble_is_reported_once_and_nothing_is_changed(sizes: int) -> None:
    notices: list[str] = []
    made = list(sound_faults.report(blocks(streams(), sizes), CODEC, PROMPT, notices.append))
    assert np.array_equal(np.concatenate(made), streams())
    assert notices == ["stream 2: silence at 4.2 s"]


def test_without_retry_every_block_is_handed_on_at_once() -> None:
    drawn: list[int] = []

    def made() -> Iterator[Integers]:
        for number, block in enumerate(blocks(streams(), 7)):
            drawn.append(number)
            yield block

    watched = sound_faults.report(made(), CODEC, PROMPT, print)
    for number in range(200):
        next(watched)
        assert drawn[-1] == number


def redrawn(
    made: Iterator[Integers], redraw: sound_faults.Redraw, retry: int, notices: list[str]
) -> Iterator[Integers]:
    return sound_faults.redraw_trouble(
        made, redraw=redraw, codec=CODEC, prompt=PROMPT, retry=retry, notice=notices.append
    )


def never(heard: Integers, *, whole: bool, stream: int, attempt: int) -> Iterator[Integers]:
    raise AssertionError


@pytest.mark.parametrize("reached", [60, 350, 600])
def test_what_is_held_back_is_handed_on_at_an_interrupt(reached: int) -> None:
    def made() -> Iterator[Integers]:
        yield from blocks(streams()[:reached], 50)
        raise KeyboardInterrupt

    handed: list[Integers] = []
    with pytest.raises(KeyboardInterrupt):
        handed.extend(redrawn(made(), never, 1, []))
    assert np.array_equal(np.concatenate(handed), streams()[:reached])


def test_an_interrupt_between_two_blocks_loses_nothing_either() -> None:
    made = redrawn(blocks(streams(), 50), never, 1, [])
    handed = [next(made), next(made)]
    assert isinstance(made, Generator)
    handed.append(made.throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        handed.extend(made)
    there = np.concatenate(handed)
    assert 600 <= len(there) < 700
    assert np.array_equal(there, streams()[: len(there)])


@pytest.mark.parametrize("codec", [Linear(256, RATE), MuLaw(16, RATE)])
def test_silence_is_found_though_no_level_is_at_zero(codec: Quantiser) -> None:
    assert sound_faults.trouble(np.full(RATE, codec.start), codec) == "silence"


def test_few_levels_do_not_clip_and_a_second_of_few_samples_is_not_judged() -> None:
    coarse = np.random.default_rng(3).integers(0, 2, RATE)
    assert sound_faults.trouble(coarse, MuLaw(2, RATE)) is None
    assert sound_faults.trouble(np.zeros(10, np.int64), MuLaw(256, 10)) is None


@pytest.mark.parametrize("sizes", [1, 64, 333])
def test_a_stream_is_redrawn_from_before_the_trouble(sizes: int) -> None:
    notices: list[str] = []
    asked: list[tuple[Integers, int, int]] = []

    def redraw(heard: Integers, *, whole: bool, stream: int, attempt: int) -> Iterator[Integers]:
        assert whole
        asked.append((heard, stream, attempt))
        silent = np.full((1500, 1), CODEC.start)
        yield from blocks(silent if attempt == 1 else noise(1500, 9)[:, None], 2 * sizes)

    rows = np.concatenate(list(redrawn(blocks(streams(), sizes), redraw, 3, notices)))
    assert np.array_equal(rows[:, 0], streams()[:, 0])
    assert np.array_equal(rows[:600, 1], streams()[:600, 1])  # the second before the silent one
    assert np.array_equal(rows[600:, 1], noise(1500, 9)[:900])
    assert [(stream, attempt) for _, stream, attempt in asked] == [(1, 1), (1, 2)]
    assert np.array_equal(asked[1][0], np.concatenate([PROMPT, streams()[:600, 1]]))
    assert notices == [
        "stream 2: silence at 4.2 s: drawn anew, 1 of 3",
        "stream 2: silence at 4.2 s: drawn anew, 2 of 3",
    ]


def test_it_goes_on_when_all_attempts_are_spent() -> None:
    notices: list[str] = []

    def redraw(heard: Integers, *, whole: bool, stream: int, attempt: int) -> Iterator[Integers]:
        yield np.full((1500, 1), CODEC.start)

    rows = np.concatenate(list(redrawn(blocks(streams()), redraw, 2, notices)))
    assert len(rows) == 1500
    assert len(notices) == 3
    assert notices[-1] == "stream 2: silence at 4.2 s"


@pytest.mark.parametrize("sizes", [1, 64, 333])
@pytest.mark.parametrize(("silent", "all_heard"), [(1950, True), (2550, False)])
def test_a_redrawn_stream_hears_ten_seconds(sizes: int, silent: int, all_heard: bool) -> None:
    """Of the prompt, a quarter of a second, and what was made until the second before trouble."""
    rows = noise(3000)[:, None]
    rows[silent:] = CODEC.start
    asked: list[tuple[Integers, bool]] = []

    def redraw(heard: Integers, *, whole: bool, stream: int, attempt: int) -> Iterator[Integers]:
        asked.append((heard, whole))
        yield noise(3000, 9)[:, None]

    list(redrawn(blocks(rows, sizes), redraw, 1, []))
    [(heard, whole)] = asked
    everything = np.concatenate([PROMPT, rows[:, 0]])
    assert whole == all_heard
    assert len(heard) <= 10 * RATE
    assert np.array_equal(heard, everything[: len(heard)]) == all_heard


def test_every_attempt_has_a_seed_of_its_own() -> None:
    seeds = {sound_faults.seed_of(*key) for key in [(0, 0, 1), (0, 0, 2), (0, 1, 1), (1, 0, 1)]}
    assert len(seeds) == 4
    assert all(0 <= seed < 2**63 for seed in seeds)
