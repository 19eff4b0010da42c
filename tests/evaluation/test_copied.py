"""Copied: passages of the recording in a sound are found, with their seconds, and no others."""

import numpy as np
import pytest

from seqkit.data.sound import Wave
from seqkit.evaluation.recording import Recording

RATE = 32000


def tune(seconds: float, seed: int) -> Wave:
    """Notes of random pitch, length and loudness."""
    draw = np.random.default_rng(seed)
    wave = draw.normal(0, 1e-4, round(seconds * RATE))
    begin = 0
    while begin < len(wave):
        size = int(draw.integers(RATE // 10, RATE // 3))
        time = np.arange(min(size, len(wave) - begin)) / RATE
        hertz = 110 * 2 ** (draw.uniform(0, 3))
        partials = [
            np.sin(2 * np.pi * n * hertz * time) * draw.uniform(0, 1 / n) for n in (1, 2, 3, 5)
        ]
        wave[begin : begin + len(time)] += np.sum(partials, 0) * np.exp(-time * draw.uniform(2, 8))
        begin += size
    return (wave * 0.2).astype(np.float32)


@pytest.fixture(scope="module")
def own() -> Recording:
    return Recording.of(tune(40, 1), RATE)


def test_what_is_new_has_no_long_passages(own: Recording) -> None:
    found = own.judged(tune(12, 2), RATE).copied
    assert found is not None
    assert found.longest_passage < 1
    assert found.in_passages == 0


@pytest.mark.parametrize("late", [0, 777])  # samples: wherever frames begin
@pytest.mark.parametrize("seconds", [1.5, 3])
def test_a_passage_is_found_in_a_new_sound(own: Recording, seconds: float, late: int) -> None:
    begin = 17 * RATE + late
    copy = 0.8 * tune(40, 1)[begin : begin + round(seconds * RATE)]
    hiss = np.random.default_rng(3).normal(0, 0.001, len(copy)).astype(np.float32)
    sound = np.concatenate([tune(5, 3), copy + hiss, tune(4, 4)])
    said = own.judged(sound, RATE)
    assert said.copied is not None
    assert said.copied.longest_passage == pytest.approx(seconds, abs=0.25)
    assert said.copied.in_passages == pytest.approx(seconds / (9 + seconds), abs=0.05)
    share = f"{said.copied.in_passages:.0%} lies in passages over a second"
    passage = f"it copies {said.copied.longest_passage:.1f} s at most in one piece"
    assert said.words.endswith(f"; {passage}; {share}")


def test_a_tone_that_stands_still_follows_nothing(own: Recording) -> None:
    places = np.arange(6 * RATE) / RATE
    begin = 17 * RATE
    piece = tune(40, 1)[begin : begin + RATE // 4]
    loop = np.tile(piece * np.hanning(len(piece)).astype(np.float32), 24)
    still = 0.3 * np.sin(2 * np.pi * 330 * places).astype(np.float32)
    slow = Recording.of(np.concatenate([tune(20, 1), still[: RATE // 2], tune(20, 2)]), RATE)
    for recording, sound in ((own, loop), (slow, still)):
        copied = recording.judged(sound, RATE).copied
        assert copied is not None
        assert copied.longest_passage < 1


def test_noise_copies_nothing_though_all_of_it_is_alike(own: Recording) -> None:
    draw = np.random.default_rng(5)
    hiss, other = (draw.normal(0, 0.1, 10 * RATE).astype(np.float32) for _ in range(2))
    assert own.judged(hiss, RATE).copied == (0, 0)
    found = Recording.of(hiss, RATE).judged(other, RATE).copied
    assert found is not None
    assert found.longest_passage < 0.5


def test_passages_of_a_long_recording_are_found(own: Recording) -> None:
    wave = np.concatenate([tune(50, 6), tune(40, 1), tune(50, 7)])
    long = Recording.of(wave, RATE)
    assert len(long.heard.moments) <= 2000 < 20 * len(wave) / RATE
    sound = np.concatenate([tune(5, 3), tune(40, 1)[5 * RATE : 9 * RATE], tune(4, 4)])
    found = long.judged(sound, RATE).copied
    assert found is not None
    assert found.longest_passage == pytest.approx(4, abs=0.5)
