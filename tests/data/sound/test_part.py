"""A part of sound without its silence, whichever codec it is of."""

import numpy as np
import pytest

from seqkit.data.codecs import MuLaw, SoundCodec, Spectral
from seqkit.data.corpus import Part
from seqkit.data.sound import Frames
from seqkit.data.sound.part import without_silence

RATE = 4800


def wave(seconds: int, channels: int = 1) -> Frames:
    """Noise, between whose seconds there is silence."""
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, (seconds * RATE, channels))
    noise[np.arange(len(noise)) // RATE % 2 == 1] = 0
    return noise.astype(np.float32)


@pytest.fixture(scope="module", params=["mu_law", "spectral"])
def codec(request: pytest.FixtureRequest) -> SoundCodec:
    if request.param == "mu_law":
        return MuLaw(256, RATE)
    return Spectral.fit(wave(3, 2), RATE, 192)


def test_pauses_become_short_and_documents_begin_with_sound(codec: SoundCodec) -> None:
    sound = wave(3, codec.channels)
    documents = [codec.encode(sound), codec.encode(sound[RATE:])]
    part = Part.of(*documents, frame=codec.phases)
    kept = without_silence(part, codec, 40)
    seconds = len(kept) / codec.symbol_rate
    assert seconds == pytest.approx(1 + 0.3 + 1 + 1, abs=0.15)
    assert kept.starts.tolist()[0] == 0 and len(kept.starts) == 2
    assert kept.starts[1] % codec.phases == 0
    powers, hop = codec.powers(kept.symbols), codec.samples_of(codec.phases)
    for begin in kept.starts // codec.phases:  # of 20 ms not all is loud
        assert powers[begin : begin + round(0.02 * RATE / hop)].max() > powers.max() / 1e3
