"""The watch over sound: what is trouble, what is not, and what becomes of it."""

from collections.abc import Iterator

import numpy as np
import pytest

from seqkit.config import ModelConfig
from seqkit.data.codecs import MuLaw, Quantiser
from seqkit.data.sound import Wave
from seqkit.evaluation.recording import Judgement, Recording
from seqkit.generation import listening
from seqkit.generation.engine import Blocks
from seqkit.generation.request import Trained
from seqkit.model.char_rnn import CharRNN
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
        (np.full(RATE, 140), "silence"),  # a constant offset
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
    assert listening.trouble(symbols.astype(np.int64), CODEC, None) == expected


def streams() -> Integers:
    """Two streams of seven and a half seconds; the second falls silent after 3.2 seconds."""
    first, second = noise(1500, 1), noise(1500, 2)
    second[640:] = CODEC.start
    return np.stack([first, second], 1)


def blocks(rows: Integers, sizes: int = 64) -> Iterator[Integers]:
    """The rows in blocks, the first one short as a sampler makes it."""
    yield from np.split(rows, range(1, len(rows), sizes))


PROMPT: Symbols = np.full(50, 77, np.uint8)


@pytest.mark.parametrize("sizes", [1, 333])
def test_trouble_is_reported_once_and_nothing_is_changed(sizes: int) -> None:
    notices: list[str] = []
    told = listening.watched(blocks(streams(), sizes), CODEC, PROMPT, notices.append, None)
    assert np.array_equal(np.concatenate([*told]), streams())
    assert notices == ["stream 2: silence at 4.2 s"]


FAST = MuLaw(256, 8000)


def tone(seconds: float, level: float = 0.5, hertz: float = 223.7) -> Wave:
    phase = 2 * np.pi * hertz * np.arange(round(seconds * 8000)) / 8000
    wave = level * (np.sin(phase) + np.sin(2 * phase) / 2)
    return FAST.decode(FAST.encode(wave.astype(np.float32)))


def test_a_sound_is_held_against_its_recording() -> None:
    recording = Recording.of(tone(4), 8000)
    quiet = 0.08 * tone(1)  # 22 dB below
    hiss = np.random.default_rng(4).normal(0, 0.3, 8000).astype(np.float32)
    wave = np.concatenate([tone(2), quiet, hiss, tone(1.5)])
    right, wrong = FAST.encode(tone(5.5)), FAST.encode(wave)
    rows, faults = np.stack([right, wrong], 1).astype(np.int64), list[str]()
    made = listening.watched(blocks(rows, 256), FAST, PROMPT[:0], faults.append, recording)
    said = list[tuple[int, Judgement]]()
    handed = judged(made, FAST, recording, said)
    assert np.array_equal(np.concatenate([*handed]), rows)
    assert faults == ["stream 2: silence at 2.0 s"]
    assert [(stream, found.is_like) for stream, found in said] == [(1, True), (2, False)]


def judged(
    made: Blocks, codec: Quantiser, recording: Recording, said: list[tuple[int, Judgement]]
) -> Blocks:
    model = CharRNN(ModelConfig(hidden_size=4, vocabulary_size=codec.size))
    return listening.judged(
        made, Trained(model, codec), recording, lambda *found: said.append(found)
    )
