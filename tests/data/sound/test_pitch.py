"""Pitch is heard, and a note is a category or takes the nearest."""

import numpy as np
import pytest

from seqkit.data.sound import Wave, pitch
from seqkit.data.sound.pitch import PitchBook, melody_of

RATE = 4000
NOTES = (57, 60, 64)


def voice(hertz: float, rate: int, seconds: float = 0.5) -> Wave:
    """A tone with weaker overtones."""
    phase = 2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate
    return np.asarray(0.2 * np.cos(phase) + 0.1 * np.cos(2 * phase + 1), np.float32)


@pytest.mark.parametrize("rate", [4000, 8000, 22050, 44100])
@pytest.mark.parametrize("hertz", [61.0, 147.0, 440.0, 830.0])
def test_a_tone_has_its_pitch_in_every_frame(hertz: float, rate: int) -> None:
    notes = melody_of(voice(hertz, rate), rate)[3:-3]
    assert len(notes) == pytest.approx(44, abs=1)
    assert np.abs(notes - 69 - 12 * np.log2(hertz / 440)).max() < 0.3


def test_noise_and_silence_have_no_pitch_and_a_change_is_heard_when_it_comes() -> None:
    noise = 0.1 * np.random.default_rng(0).standard_normal(4000)
    assert (melody_of(noise.astype(np.float32), 8000) == 0).mean() > 0.9
    tone, other = voice(200, 8000), voice(300, 8000)
    notes = melody_of(np.concatenate([tone, other, np.zeros_like(tone), tone * 1e-3]), 8000)
    assert int((notes > 60).argmax()) == pytest.approx(50, abs=3)
    assert (notes[103:] == 0).all()


def sung(*notes: tuple[int, float]) -> Wave:
    """Notes of half a second, each as loud as is said."""
    time = np.arange(RATE // 2) / RATE
    parts = [size * np.cos(2 * np.pi * 440 * 2 ** ((n - 69) / 12) * time) for n, size in notes]
    return np.concatenate(parts).astype(np.float32)


def heard(own: PitchBook, wave: Wave) -> float:
    """The note of most frames."""
    codes = own.codes(own.describe(wave)).astype(int)
    return float(own.notes[np.bincount(codes).argmax() - 1])


def test_every_note_is_heard_as_itself_and_what_is_missing_as_the_nearest() -> None:
    wave = sung(*((note, 0.4) for note in NOTES))
    slip = sung((72, 0.4))[: RATE // 100]
    own = pitch.learn(np.concatenate([*[wave] * 9, slip, np.zeros(RATE, np.float32)]), RATE)
    assert {0, *NOTES} <= {*own.notes.tolist()}
    assert own.notes.max() < 72
    for note in NOTES:
        assert heard(own, sung((note, 0.4))) == note
    assert heard(own, sung((45, 0.01))) == 57
    assert heard(own, sung((80, 0.01))) == own.notes.max()
    assert (own.size, own.hop) == (len(own.centres) + 1, RATE // 100)
    assert len(np.unique(own.features, axis=0)) == len(own.features)
    assert own.describe(np.zeros(0, np.float32)).shape == (0, 1)


def test_what_is_learnt_of_a_note_is_heard() -> None:
    tone = sung((60, 0.4))
    own = pitch.learn(np.concatenate([tone, np.zeros_like(tone)]), RATE)
    faded = np.concatenate([tone, 0.03 * tone])  # 30 dB below
    codes = own.codes(own.describe(faded)).astype(int)
    assert set(own.notes[codes[5:45] - 1]) == {60}
    assert set(own.notes[codes[55:] - 1]) == {0}
