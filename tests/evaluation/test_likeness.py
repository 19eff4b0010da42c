"""Likeness: nine distances, zero for the same sound, each hearing its own fault."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from seqkit.data import etude
from seqkit.data.sound import Wave, resample
from seqkit.evaluation.hearing import FULL, MEL_BANDS, Levels, Sound
from seqkit.evaluation.hearing import LOW as RATE
from seqkit.evaluation.likeness import PULSE, Manifold
from seqkit.evaluation.recording import NEEDED, Recording


def recording(seconds: float = 4) -> Wave:
    """Some of the étude."""
    return etude.render(etude.compose(32), RATE)[: round(seconds * RATE)].astype(np.float32)


def test_sounds_are_ranked_by_how_near_they_are() -> None:
    wave = recording(6)
    own = Recording.of(wave, RATE)
    draw = np.random.default_rng(5)
    noise = draw.normal(0, wave.std(), len(wave)).astype(np.float32)
    hiss = wave + draw.normal(0, 0.05, len(wave)).astype(np.float32)
    same, near, far = (own.measure(sound, RATE) for sound in (wave, hiss, noise))
    assert same == pytest.approx([0] * 9, abs=1e-6)
    assert far.tone == pytest.approx(1, abs=0.05)
    assert far.loudness == pytest.approx(1, abs=0.05)
    assert far.pitch > 0.6
    assert all(a < b < c for a, b, c in zip(same, near, far, strict=True))
    assert all(half < 0.5 for half in own.halves)
    assert own.judged(wave, RATE).words.startswith(
        "sounds like the recording (spectrum 0.00 ≤ 0.10, "
    )
    assert own.judged(noise, RATE).words.startswith(
        "does not sound like the recording: its timbre is another, it lacks the clear "
        "tones of the recording, its loudness varies too little, it is brighter, it hisses, it has "
        "sounds of its own, it moves less, it lacks the pulse of the recording (spectrum 0."
    )
    assert ", it is quieter" in own.judged(0.1 * wave, RATE).words
    assert own.judged(wave[:400], RATE).words == "is too short to compare with the recording"


def test_each_distance_hears_its_own_fault() -> None:
    wave = recording(8)
    own = Recording.of(wave, RATE)
    # Noise with the recording's spectrum, moment by moment: the right colour and level, no tone.
    spectra = torch.stft(
        torch.from_numpy(wave), 64, 16, window=torch.hann_window(64), return_complex=True
    )
    turn = torch.exp(2j * np.pi * torch.rand(spectra.shape, generator=torch.manual_seed(1)))
    coloured = torch.istft(spectra * turn, 64, 16, window=torch.hann_window(64)).numpy()
    assert own.measure(coloured, RATE).tone > 0.4
    # A semitone higher: the same tones, other notes.
    higher = resample(wave, 8000, 7551)
    found = own.measure(higher, RATE)
    assert found.pitch > 0.5 > 5 * found.tone
    # Half of it silent.
    half = np.where(np.arange(len(wave)) % RATE < RATE // 2, wave, 0).astype(np.float32)
    assert own.measure(half, RATE).loudness > 2
    # What none of the first six hears: the order, but for the clicks between pieces.
    pieces = wave[: len(wave) // 800 * 800].reshape(-1, 800)
    mixed = np.random.default_rng(2).permutation(pieces).reshape(-1)
    *others, contrast, _, flux, pulse = own.measure(mixed, RATE)
    assert max(others) < 0.25 < contrast
    assert flux > 0.35
    assert pulse > 0.3
    assert max(own.measure(wave[::-1].copy(), RATE)[:6]) < 0.05


@pytest.mark.parametrize("hertz", [60, 110, 247.5, 480])
def test_a_tone_is_pitched_and_its_semitone_is_right(hertz: float) -> None:
    def tone(frequency: float) -> Wave:
        phase = 2 * np.pi * frequency * np.arange(2 * RATE) / RATE
        return (np.sin(phase) / 2 + np.sin(2 * phase) / 3).astype(np.float32)

    assert Sound.of(tone(hertz), RATE).hear().pitched == 1
    own = Recording.of(tone(hertz), RATE)
    assert own.measure(0.3 * tone(hertz), RATE).pitch == 0
    assert own.measure(tone(hertz * 2 ** (-1 / 12)), RATE).pitch == 1
    noise = np.random.default_rng(3).normal(0, 0.1, RATE).astype(np.float32)
    assert Sound.of(noise, RATE).hear().pitched < 0.05


def click_track(seconds: float, every: float) -> Wave:
    """A metronome: short tones over a little hiss."""
    wave = np.random.default_rng(1).normal(0, 1e-4, round(seconds * FULL))
    tone = np.sin(2 * np.pi * 1000 * np.arange(1600) / FULL) * np.exp(-np.arange(1600) / 300)
    for beat in np.arange(0.1, seconds - 0.1, every):
        begin = round(beat * FULL)
        wave[begin : begin + len(tone)] += tone / 2
    return wave.astype(np.float32)


def white(seconds: float, seed: int = 2) -> Wave:
    draw = np.random.default_rng(seed)
    return draw.normal(0, 0.1, round(seconds * FULL)).astype(np.float32)


@pytest.mark.parametrize("seconds", [5, 10, 23])
def test_a_metronome_has_a_pulse_and_noise_has_none(seconds: float) -> None:
    brown = np.cumsum(white(seconds), dtype=np.float32)
    waves = click_track(seconds, 0.6), white(seconds), brown / np.float32(100)
    pulses = [Sound.of(wave, FULL).hear().pulse for wave in waves]
    assert pulses[0] == pytest.approx(1, abs=0.03)
    assert max(pulses[1:]) < PULSE - 0.05


def test_a_pulse_that_is_lost_is_heard_and_one_that_is_not_there_is_said() -> None:
    own = Recording.of(click_track(20, 0.6), FULL)
    assert own.measure(click_track(12, 0.5), FULL).pulse < 0.05  # another pace is a pulse, too
    beats = click_track(12, 0.6)
    begins = np.random.default_rng(3).uniform(0, 11.9, 20)
    wandering = np.zeros_like(beats)
    for begin in (begins * FULL).astype(int):
        wandering[begin : begin + 1600] += beats[3200:4800]
    assert own.measure(wandering, FULL).pulse > 0.7
    assert "it lacks the pulse of the recording" in own.judged(wandering, FULL).words
    hiss = Recording.of(white(20), FULL)
    assert not hiss.has_pulse
    assert hiss.measure(click_track(12, 0.6), FULL).pulse == 0
    assert "; the recording has no pulse; " in hiss.judged(white(8, 3), FULL).words
    assert ", pulse " not in hiss.judged(white(8, 3), FULL).words


def melody(keys: Sequence[int], seconds: float, seed: int) -> Wave:
    """Plucked notes that are drawn among these keys, five a second, as loud as each other."""
    draw, wave = np.random.default_rng(seed), np.zeros(round(seconds * FULL) + FULL)
    for beat in range(round(seconds * 5)):
        hertz = 440 * 2 ** ((draw.choice(keys) - 69) / 12)
        time, begin = np.arange(FULL) / FULL, beat * FULL // 5
        partials = sum(np.sin(2 * np.pi * n * hertz * time) / n for n in range(1, 9))
        wave[begin : begin + FULL] += partials * np.exp(-12 * time) / 5
    return wave[: round(seconds * FULL)].astype(np.float32)


LOWER, HIGHER = (45, 50, 54), (64, 69, 73)


def test_half_of_the_notes_lacks_recall_and_foreign_ones_lack_precision() -> None:
    own = Recording.of(melody(LOWER + HIGHER, 30, 1), FULL)
    again, half = melody(LOWER + HIGHER, 12, 2), melody(LOWER, 12, 3)
    foreign = melody((*LOWER, *HIGHER, 58, 80, 85), 12, 4)
    assert min(own.fidelity(again, FULL)) > 0.9
    assert own.judged(again, FULL).is_like
    precision, recall = own.fidelity(half, FULL)
    assert precision > 0.9 > 0.75 > recall
    assert "it lacks sounds of the recording" in own.judged(half, FULL).words
    precision, recall = own.fidelity(foreign, FULL)
    assert precision < 0.75 < recall
    assert "it has sounds of its own" in own.judged(foreign, FULL).words
    assert own.measure(np.tile(again[:FULL], 12), FULL).frames > 0.3  # the same second again


@pytest.mark.parametrize(("held", "words"), [(False, "it flickers"), (True, "it moves less")])
def test_stripes_and_a_stuttering_sound_are_heard_by_their_flux(held: bool, words: str) -> None:
    wave = melody(LOWER + HIGHER, 20, 1)
    own = Recording.of(wave, FULL)
    draw = np.random.default_rng(5)
    if held:  # each beat as it begins
        beats = wave.reshape(-1, FULL // 5)[:, 640:1280]
        made = np.tile(beats, (1, FULL // 5 // 640)).reshape(-1)
    else:  # some frames are from elsewhere
        pieces = wave.copy().reshape(-1, FULL // 100)
        jumps = draw.random(len(pieces)) < 0.15
        pieces[jumps] = pieces[draw.integers(0, len(pieces), jumps.sum())]
        made = pieces.reshape(-1)
    assert own.measure(made, FULL).flux > NEEDED.flux
    assert words in own.judged(made, FULL).words
    assert own.measure(wave[: 8 * FULL], FULL).flux < 0.1


def test_neighbours_are_those_of_the_definition() -> None:
    """Kynkäänniemi et al. (2019), equations 1 and 2, each distance by itself."""
    draw = np.random.default_rng(6)
    one = draw.normal(0, 20, (9, MEL_BANDS)).astype(np.float32)
    other = draw.normal(4, 12, (7, MEL_BANDS)).astype(np.float32)

    def covered(points: Levels, by: Levels) -> float:
        inside = 0
        for point in points:
            for centre in by:
                near = sorted(float(np.linalg.norm(centre - x)) for x in by)[3]
                if np.linalg.norm(point - centre) <= near:
                    inside += 1
                    break
        return inside / len(points)

    precision, recall = Manifold.of(one).beside(Manifold.of(other))
    assert precision == pytest.approx(covered(one, other))
    assert recall == pytest.approx(covered(other, one))
    assert 0 < precision < 1
    # What differs by less than three decibels in a band is not told apart.
    still = np.zeros((5, MEL_BANDS), np.float32)
    assert Manifold.of(still + 2.9).beside(Manifold.of(still)) == (1, 1)
    assert Manifold.of(still + 3.1).beside(Manifold.of(still)) == (0, 0)
