"""Paths through a recording that jump where it is alike."""

import dataclasses

import numpy as np
import pytest

from seqkit.data.codecs import Spectral
from seqkit.data.corpus import Part
from seqkit.data.sound import Frames
from seqkit.data.sound.part import paths
from seqkit.symbols import Integers

RATE, BEAT, SECONDS = 8000, 0.5, 40


def beats(seconds: float = SECONDS) -> Frames:
    """A tone of another pitch and a click on every beat, (n, 1)."""
    rng, places = np.random.default_rng(0), np.arange(round(seconds * RATE))
    pitch = rng.choice([220, 262, 330, 392, 440, 523], int(seconds / BEAT) + 1)
    since = places % round(BEAT * RATE) / RATE
    tone = np.sin(2 * np.pi * pitch[(places / RATE / BEAT).astype(int)] * places / RATE)
    click = rng.standard_normal(len(places)) * np.exp(-since / 0.01)
    sound = 0.3 * tone * np.exp(-since / 0.3) + 0.3 * click
    return np.asarray(sound[:, None], np.float32)


@pytest.fixture(scope="module")
def codec() -> Spectral:
    return Spectral.fit(beats(), RATE, 512)


def part_of(codec: Spectral, *sounds: Frames) -> Part:
    return Part.of(*(codec.encode(sound) for sound in sounds), frame=codec.phases)


def order(codec: Spectral, path: Part, recording: Part) -> Integers:
    """Which frame of the recording each frame of a path is: the one that goes on, of several."""
    known = [row.tobytes() for row in recording.symbols.reshape(-1, codec.phases)]
    places = list[int]()
    for row in path.symbols.reshape(-1, codec.phases):
        following = places[-1] + 1 if places else 0
        goes_on = following < len(known) and known[following] == row.tobytes()
        places.append(following if goes_on else known.index(row.tobytes()))
    return np.array(places)


def test_passages_are_short_and_the_path_is_as_long(codec: Spectral) -> None:
    recording = part_of(codec, beats())
    path = paths([recording], codec, 1.5)
    assert len(path) % len(recording) == 0
    assert len(path) >= 2_000_000 * codec.phases
    one = Part.of(path.symbols[: len(recording)], frame=codec.phases)
    first = order(codec, one, recording)
    ends = np.flatnonzero(np.diff(first, append=-1) != 1)
    lengths = np.diff(ends, prepend=-1)
    rate = RATE / codec.hop
    assert lengths.max() <= 2.5 * 1.5 * rate  # frames that are the same hide a jump now and then
    assert 0.3 * rate < np.median(lengths) <= 1.5 * rate
    assert len(np.unique(first)) > 0.55 * len(recording) / codec.phases  # drawn evenly: 0.39 else


def test_each_path_begins_elsewhere_and_where_it_is_quiet(codec: Spectral) -> None:
    recording = part_of(codec, beats())
    path = paths([recording], codec, 1.5)
    firsts = path.symbols[path.starts[:, None] + np.arange(codec.phases)]
    assert len(np.unique(firsts, axis=0)) > 50
    powers = codec.powers(recording.symbols)
    assert np.quantile(codec.powers(firsts.reshape(-1)), 0.9) < np.quantile(powers, 0.3)


def test_a_path_keeps_time(codec: Spectral) -> None:
    recording = part_of(codec, beats())
    symbols = paths([recording], codec, 1.5).symbols[: len(recording)]
    levels = 10 * np.log10(codec.powers(symbols) + 1e-9)
    rise = np.maximum(np.diff(levels), 0)
    lag = round(BEAT * RATE / codec.hop)
    rise -= rise.mean()
    assert (rise[lag:] * rise[:-lag]).sum() > 0.5 * (rise * rise).sum()
    assert (rise[lag // 2 :] * rise[: -(lag // 2)]).sum() < 0.1 * (rise * rise).sum()


def test_no_path_is_another(codec: Spectral) -> None:
    recording = part_of(codec, beats())
    rows = paths([recording], codec, 1.5).symbols.reshape(-1, len(recording))
    assert len(np.unique(rows, axis=0)) == len(rows)


def test_paths_jump_from_one_sound_to_another(codec: Spectral) -> None:
    row = codec.encode(beats()).reshape(-1, codec.phases)
    clips = part_of(
        codec, *(beats()[begin : begin + 2 * RATE] for begin in range(0, 20 * RATE, RATE))
    )
    path = paths([clips, clips], codec, 0.7)
    assert len(clips.starts) == 20
    assert len(path) >= 2_000_000 * codec.phases
    assert len(path.starts) == len(path) // len(clips)
    one = path.symbols[: len(clips)]
    assert not np.array_equal(one, clips.symbols)
    assert len(row) > len(np.unique(one.reshape(-1, codec.phases), axis=0)) > 50


def test_sounds_with_labels_stay_by_themselves(codec: Spectral) -> None:
    short, long = codec.encode(beats(5)), codec.encode(beats(20))
    labels = np.array([[0], [1]])
    part = Part.of(short, long, frame=codec.phases)
    recording = dataclasses.replace(part, labels=labels)
    path = paths([recording, recording], codec, 1.5)
    assert path.starts.tolist()[:3] == [0, len(short), len(recording)]
    assert path.labels is not None
    assert len(path.starts) == len(path.labels)
    for begin in path.starts[:100:2]:
        assert np.array_equal(path.symbols[begin : begin + len(short)], short)
    assert not np.array_equal(path.symbols[len(short) : len(recording)], long)
    again = paths([recording, recording], codec, 1.5)
    assert np.array_equal(again.symbols, path.symbols)
