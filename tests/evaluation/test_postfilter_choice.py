"""Which postfilter is chosen: the one that cures hiss, and none where there is nothing to cure."""

import numpy as np
import pytest

from seqkit.data.sound import Frames
from seqkit.data.sound.postfilter import OFF
from seqkit.evaluation.postfilter_choice import choose
from seqkit.evaluation.recording import Recording

RATE = 32000


def plucked(seed: int, hiss: float = 0.0, seconds: float = 6.0) -> Frames:
    """Notes of many partials that die away, and come with hiss of their own loudness."""
    draw = np.random.default_rng(seed)
    wave = np.zeros(round(seconds * RATE))
    for begin in range(0, len(wave), RATE // 3):
        times = np.arange(min(RATE // 2, len(wave) - begin)) / RATE
        pitch = 220 * 2 ** (draw.integers(0, 12) / 12)
        note = sum(np.sin(2 * np.pi * n * pitch * times) / n**1.5 for n in range(1, 9))
        note += hiss * draw.normal(size=len(times))
        wave[begin : begin + len(times)] += 0.2 * np.exp(-5 * times) * note
    wave += 1e-4 * draw.normal(size=len(wave))
    return wave.astype(np.float32)[:, None]


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording.of(plucked(1)[:, 0], RATE)


def test_hiss_is_cured_and_that_is_told(recording: Recording) -> None:
    made = plucked(2, hiss=0.05)
    plain = recording.measure(made[:, 0], RATE)
    chosen, said = choose(recording, made, RATE)
    cured = recording.measure(chosen.filtered(made, RATE)[:, 0], RATE)
    assert cured.contrast < plain.contrast - 0.1
    assert cured.band <= max(plain.band, recording.limits.band)
    assert said.startswith("the sound hisses, and from now on that is turned down: contrast")
    assert f"(slope {chosen.slope:g}, onset {chosen.onset:g} dB, reach" in said
    stereo = choose(recording, np.repeat(made, 2, 1), RATE)
    assert stereo == (chosen, said)


@pytest.mark.parametrize(("factor", "louder"), [(0.6, 4), (1.7, -5), (0.2, 6), (3.2, -6)])
def test_sound_of_another_level_is_brought_to_the_recordings(
    factor: float, louder: float, recording: Recording
) -> None:
    made = plucked(3) * np.float32(factor)
    plain = recording.judged(made[:, 0], RATE).distances
    chosen, said = choose(recording, made, RATE)
    assert chosen.slope == 0
    assert chosen.louder == pytest.approx(louder, abs=1)
    found = recording.judged(chosen.filtered(made, RATE)[:, 0], RATE).distances
    assert plain is not None
    assert found is not None
    assert found.loudness < 0.6 * plain.loudness
    assert f"loudness {plain.loudness:.2f} → {found.loudness:.2f} (sample.postfilter" in said
    what = f"{abs(chosen.louder):g} dB {'louder' if louder > 0 else 'quieter'}"
    assert f"the sound is made {what}, to be as loud as the recording: loudness" in said


def test_a_sound_without_hiss_and_one_too_short_have_none(recording: Recording) -> None:
    assert choose(recording, plucked(3), RATE) == (OFF, "")
    assert choose(recording, plucked(2, hiss=0.05)[: 2 * RATE - 1], RATE) == (OFF, "")
    assert choose(recording, plucked(2)[:1], RATE) == (OFF, "")
    faint = plucked(2, hiss=0.004)
    assert 0.05 < recording.measure(faint[:, 0], RATE).contrast < recording.limits.contrast
    assert choose(recording, faint, RATE) == (OFF, "")


def test_what_an_older_seqkit_kept_chooses_none(recording: Recording) -> None:
    tensors = {k: v for k, v in recording.tensors().items() if not k.startswith("full")}
    tensors |= {name: tensors[name][:4] for name in ("unit", "halves")}
    tensors["pieces"] = tensors["pieces"][:, :5]
    assert choose(Recording.of_saved(tensors), plucked(2, hiss=0.05), RATE) == (OFF, "")
