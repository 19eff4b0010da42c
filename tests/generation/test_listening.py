"""What was made is handed on as it is, and judged; of takes the best one is kept."""

import numpy as np
import pytest

from seqkit.data.codecs import MuLaw
from seqkit.data.sound import Wave
from seqkit.evaluation.recording import Recording
from seqkit.generation import generate as generating
from seqkit.generation.sampler import ENDED
from seqkit.symbols import Integers

RATE = 8000
CODEC = MuLaw(256, RATE)


def tone(seconds: float, hertz: float = 223.7) -> Wave:
    phase = 2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE
    wave: Wave = (0.5 * (np.sin(phase) + np.sin(2 * phase) / 2)).astype(np.float32)
    return wave


def symbols(wave: Wave) -> Integers:
    return CODEC.encode(wave).astype(np.int64)


def hiss(seconds: float) -> Wave:
    count = round(seconds * RATE)
    return np.random.default_rng(1).normal(0, 0.3, count).astype(np.float32)


@pytest.fixture(scope="module")
def own() -> Recording:
    return Recording.of(CODEC.decode(symbols(tone(4))), RATE)


def kept(own: Recording, made: Integers) -> tuple[Integers, list[str]]:
    told: list[str] = []
    blocks = iter(np.split(made, [1, 700]))
    found = generating.best(blocks, CODEC, own, told.append)
    return np.concatenate([*found]), told


def test_a_sound_is_held_against_its_recording(own: Recording) -> None:
    wrong = np.concatenate([tone(2), 0.08 * tone(1), hiss(1), tone(1.5)])
    rows, told = np.stack([symbols(tone(5.5)), symbols(wrong)], 1), list[str]()
    made = iter(np.split(rows, range(1, len(rows), 256)))
    handed = generating.judged(made, CODEC, own, told.append)
    assert np.array_equal(np.concatenate([*handed]), rows)
    first, second = told
    assert first.startswith("stream 1 sounds like the recording (")
    assert second.startswith("stream 2 does not sound like the recording: ")


def test_the_take_that_is_most_like_the_recording_is_kept(own: Recording) -> None:
    noise = hiss(2)
    sounds = [symbols(wave) for wave in (noise, tone(2, 330), tone(2), noise[::-1].copy())]
    for order in ([0, 1, 2, 3], [2, 3, 0, 1]):
        made = np.stack([sounds[n] for n in order], 1)
        found, told = kept(own, made)
        assert np.array_equal(found[:, 0], sounds[2])
        (line,) = told
        number = order.index(2) + 1
        assert line.startswith(f"take {number} of 4 ")


def test_a_short_take_is_the_last_choice(own: Recording) -> None:
    made = np.stack([symbols(0 * tone(3)), symbols(tone(3))], 1)
    made[500:, 1] = ENDED  # too short to compare
    found, told = kept(own, made)
    assert np.array_equal(found[:, 0], made[:, 0])
    assert told[0].startswith("take 1 of 2 ")
