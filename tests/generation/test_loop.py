"""Loops: played round and round, their end goes over into their beginning."""

from typing import Any

import numpy as np
import pytest

from seqkit.config import Config
from seqkit.config.model import SampleConfig
from seqkit.data.codecs import Bytes, Linear, MuLaw, Quantiser
from seqkit.data.sound import Frames
from seqkit.foundation.errors import ConfigError
from seqkit.generation import loop
from seqkit.generation.sound import Sound
from seqkit.symbols import Floats

RATE = 8000
CODEC = MuLaw(256, RATE)
FINE = Linear(1024, RATE)
EMPHASISED = Linear(1024, RATE, emphasis=0.95)
STEREO = Linear(1024, RATE, channels=2)


def looped(wave: Floats, codec: Quantiser, seconds: float) -> Frames:
    """The frames of a loop of a wave (N,) or (N, C), whose length is checked."""
    symbols = codec.encode(wave.astype(np.float32)).astype(np.int64)
    blocks = iter(np.split(symbols[:, None], [1, 7001]))
    (made,) = loop.looped(blocks, codec, round(seconds * codec.symbol_rate))
    frames = Sound(codec, loop=True).decode(made[:, 0]).reshape(-1, codec.channels)
    shortest = seconds - min(0.05, seconds / 10)
    assert shortest * RATE <= len(frames) <= seconds * RATE
    return frames


def around(frames: Frames, width: float) -> Frames:
    """So many seconds on both sides of the seam."""
    count = round(width * RATE)
    return np.concatenate([frames[-count:], frames[:count]])


def level(frames: Frames) -> float:
    return float(10 * np.log10(np.square(frames).mean()))


TIME = np.arange(5 * RATE) / RATE


@pytest.mark.parametrize("hertz", [61.3, 223.7, 1403.1])
@pytest.mark.parametrize("codec", [FINE, STEREO, EMPHASISED])
def test_a_tone_goes_on_in_phase(hertz: float, codec: Quantiser) -> None:
    frames = looped(0.5 * np.sin(2 * np.pi * hertz * TIME), codec, 2)

    def bend(wave: Frames) -> float:
        """How far the samples are from those of a tone of this pitch, at most."""
        tone = 2 * np.cos(2 * np.pi * hertz / RATE)
        return float(np.abs(wave[2:] - tone * wave[1:-1] + wave[:-2]).max())

    assert bend(around(frames, 0.1)) < 0.02  # a cut has up to 0.5
    assert level(around(frames, 0.02)) == pytest.approx(level(frames), abs=0.3)


def test_the_seam_lies_where_it_is_quiet() -> None:
    """Notes that begin every 0.7 s, which the length of the loop is no multiple of."""
    since = TIME % 0.7
    pitch = 200 + 37 * (TIME // 0.7)
    notes = 0.6 * np.sin(2 * np.pi * pitch * TIME) * np.exp(-since / 0.1) * (since > 0.01)
    frames = looped(notes, CODEC, 2)
    assert level(around(frames, 0.02)) < level(frames) - 15
    step = np.abs(np.diff(around(frames, 0.005), axis=0))
    assert step.max() < 0.1


def test_what_cannot_be_a_loop_is_refused() -> None:
    assert loop.extra(Config(), Bytes(), 5) == 0
    assert loop.extra(Config(loop=True), STEREO, 4 * RATE) == round(2.1 * RATE) * 2
    follows = Config(loop=True, prompt_audio="a.wav", include_prompt=False)
    assert loop.extra(follows, CODEC, RATE) == round(2.1 * RATE)
    for keys, length, said in (
        ({"like": "a.mid"}, RATE, "leave like and until out"),
        ({"until": "document"}, RATE, "leave like and until out"),
        ({"prompt_audio": "a.wav"}, RATE, "give include_prompt=false"),
        ({"sample": SampleConfig(rate=44100)}, RATE, "8000 Hz: leave sample.rate out"),
        ({"out": "a.MP3"}, RATE, "give a .wav"),
        ({}, 1599, "give seconds=0.2 or more"),
    ):
        given: dict[str, Any] = keys
        with pytest.raises(ConfigError, match=said):
            loop.extra(Config(loop=True, **given), CODEC, length)
    with pytest.raises(ConfigError, match="this model writes text"):
        loop.extra(Config(loop=True), Bytes(), 500)
