"""A trained network as generation takes it."""

from dataclasses import dataclass, field

import numpy.typing as npt

from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.labels import Labels
from seqkit.data.sound import Wave
from seqkit.data.sound.postfilter import OFF, Postfilter
from seqkit.evaluation.recited import Index
from seqkit.evaluation.recording import Recording
from seqkit.generation.slow_tier import SlowTier
from seqkit.model.arrays import Network


@dataclass(frozen=True)
class Trained:
    """A network that generates, and what it has learnt with.

    slow: what writes the codes of its sound, if it reads codes.
    recording: what its sound is compared with.
    labels: those that it reads.
    postfilter: that its sound goes through.
    notices: what was said of its engines, which other samples of it need not repeat.
    index: of its training data.
    """

    model: Network
    codec: Codec
    slow: SlowTier | None = None
    recording: Recording | None = None
    labels: Labels | None = None
    postfilter: Postfilter = OFF
    notices: set[str] = field(default_factory=set)
    index: Index | None = None

    def heard(self, symbols: npt.ArrayLike) -> Wave:
        """The wave (N,) that symbols of sound (N P,) are heard as, of several channels the mean."""
        assert isinstance(self.codec, Quantiser)
        frames = self.postfilter.filtered(self.codec.frames(symbols), self.codec.sample_rate)
        wave: Wave = frames.mean(1)
        return wave
