"""A trained network as generation takes it."""

from dataclasses import dataclass, field

from seqkit.data.codecs import Codec
from seqkit.data.labels import Labels
from seqkit.evaluation.recited import Index
from seqkit.evaluation.recording import Recording
from seqkit.generation.slow_tier import SlowTier
from seqkit.model.char_rnn import CharRNN


@dataclass(frozen=True)
class Trained:
    """A network that generates, and what it has learnt with.

    slow: what writes the codes of its sound, if it reads codes.
    recording: what its sound is compared with.
    labels: those that it reads.
    notices: what was said of its engines, which other samples of it need not repeat.
    index: of its training data.
    """

    model: CharRNN
    codec: Codec
    slow: SlowTier | None = None
    recording: Recording | None = None
    labels: Labels | None = None
    notices: set[str] = field(default_factory=set)
    index: Index | None = None
