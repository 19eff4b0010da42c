"""The watch over sound: what is trouble, what is not, and what becomes of it."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from seqkit.data.codecs import Linear, MuLaw, Quantiser
from seqkit.generation import watch
from seqkit.symbols import Symbols

RATE = 200
CODEC = MuLaw(256, RATE, 2.0)
Rows = npt.NDArray[np.int64]


def noise(count: int, seed: int = 1) -> Rows:
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
def test_what_is_trouble(symbols: Rows, expected: str | None) -> None:
    assert watch.trouble(symbols.astype(np.int64), CODEC) == expected


def streams() -> Iterator[Rows]:
    """Two streams of seven and a half seconds; the second falls silent after 3.2 seconds."""
    first, second = noise(1500, 1), noise(1500, 2)
    second[640:] = CODEC.start
    yield from np.stack([first, second], 1)


PROMPT: Symbols = np.full(50, 77, np.uint8)


def test_trouble_is_told_once_and_nothing_is_changed() -> None:
    notices: list[str] = []

    def never(heard: Rows, stream: int, attempt: int) -> Iterator[Rows]:
        raise AssertionError

    rows = list(watch.watched(streams(), never, CODEC, PROMPT, 0, notices.append))
    assert np.array_equal(rows, list(streams()))
    assert notices == ["stream 2: silence at 4.2 s"]


def test_without_retry_every_step_is_handed_on_at_once() -> None:
    drawn: list[int] = []

    def steps() -> Iterator[Rows]:
        for number, row in enumerate(streams()):
            drawn.append(number)
            yield row

    watched = watch.watched(steps(), lambda *_: iter(()), CODEC, PROMPT, 0, print)
    for number in range(300):
        next(watched)
        assert drawn[-1] == number


def test_what_is_held_back_is_handed_on_at_an_interrupt() -> None:
    def steps() -> Iterator[Rows]:
        for number, row in enumerate(streams()):
            if number == 350:
                raise KeyboardInterrupt
            yield row

    rows: list[Rows] = []
    with pytest.raises(KeyboardInterrupt):
        rows.extend(watch.watched(steps(), lambda *_: iter(()), CODEC, PROMPT, 1, print))
    assert len(rows) == 350


@pytest.mark.parametrize("codec", [Linear(256, RATE), MuLaw(16, RATE)])
def test_silence_is_found_though_no_level_is_at_zero(codec: Quantiser) -> None:
    assert watch.trouble(np.full(RATE, codec.start), codec) == "silence"


def test_few_levels_do_not_clip_and_a_second_of_few_samples_is_not_judged() -> None:
    coarse = np.random.default_rng(3).integers(0, 2, RATE)
    assert watch.trouble(coarse, MuLaw(2, RATE)) is None
    assert watch.trouble(np.zeros(10, np.int64), MuLaw(256, 10)) is None


def test_a_stream_is_drawn_anew_from_before_the_trouble() -> None:
    notices: list[str] = []
    asked: list[tuple[Rows, int, int]] = []

    def again(heard: Rows, stream: int, attempt: int) -> Iterator[Rows]:
        asked.append((heard, stream, attempt))
        silent = attempt == 1
        yield from (np.full((1500, 1), CODEC.start) if silent else noise(1500, 9)[:, None])

    rows = np.stack(list(watch.watched(streams(), again, CODEC, PROMPT, 3, notices.append)))
    expected = np.stack(list(streams()))
    assert np.array_equal(rows[:, 0], expected[:, 0])
    assert np.array_equal(rows[:600, 1], expected[:600, 1])  # the second before the silent one
    assert np.array_equal(rows[600:, 1], noise(1500, 9)[:900])
    assert [(stream, attempt) for _, stream, attempt in asked] == [(1, 1), (1, 2)]
    assert np.array_equal(asked[1][0], np.concatenate([PROMPT, expected[:600, 1]]))
    assert notices == [
        "stream 2: silence at 4.2 s: drawn anew, 1 of 3",
        "stream 2: silence at 4.2 s: drawn anew, 2 of 3",
    ]


def test_it_goes_on_when_all_attempts_are_spent() -> None:
    notices: list[str] = []

    def again(heard: Rows, stream: int, attempt: int) -> Iterator[Rows]:
        yield from np.full((1500, 1), CODEC.start)

    rows = list(watch.watched(streams(), again, CODEC, PROMPT, 2, notices.append))
    assert len(rows) == 1500
    assert len(notices) == 3
    assert notices[-1] == "stream 2: silence at 4.2 s"


def test_every_attempt_has_a_seed_of_its_own() -> None:
    seeds = {watch.seed_of(*key) for key in [(0, 0, 1), (0, 0, 2), (0, 1, 1), (1, 0, 1)]}
    assert len(seeds) == 4
    assert all(0 <= seed < 2**63 for seed in seeds)
