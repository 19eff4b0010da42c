"""What is kept of a long recording, and where its places are."""

import numpy as np

from seqkit.advice.surprise import SurpriseOfSound
from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.evaluation.streaming import Stretch


def test_places_are_those_in_the_recording() -> None:
    """A validation part begins in the middle of a recording."""
    codec, click = MuLaw(256, 1000, 1.0), 3000
    nats = np.ones(5000)
    nats[click : click + 50] = 9
    none = np.zeros((len(nats), 0))
    stretch = Stretch(0, nats, none.astype(np.int64), none)
    symbols, before = np.zeros(5000, np.uint8), np.zeros(20_000, np.uint8)
    cut = SurpriseOfSound(Part(symbols, np.array([0]), before=before), codec, [])
    two = SurpriseOfSound(Part(symbols, np.array([0, 1000])), codec, ["a.wav", "b.wav"])
    for scored, place in ((cut, "document 1 at 23.00 s: "), (two, "b.wav at 2.00 s: ")):
        scored.add(stretch)
        assert scored.places(1)[0].startswith(place)
    assert cut.picture("a.wav", "run", ".svg").startswith(b"<?xml")
