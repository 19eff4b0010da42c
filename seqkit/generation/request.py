"""What generation takes: a trained network, and how it is to continue a prompt."""

from dataclasses import dataclass, field

from seqkit.config import ModelConfig
from seqkit.data.codecs import Codec
from seqkit.data.labels import Labels
from seqkit.evaluation.recited import Index
from seqkit.evaluation.recording import Recording
from seqkit.foundation import machine
from seqkit.foundation.machine import Device
from seqkit.generation.sampler import Ending, Engine, Sampling
from seqkit.model.arrays import Network

# Bytes for each stream, measured: of each unit of each layer (the state, before and after a step),
# of each unit (gates), and of each symbol (logits, and probabilities in float64).
_ON_CPU = (44, 20, 20)
_ON_GPU = (16, 0, 8)


@dataclass(frozen=True)
class Trained:
    """A network that generates, and what it has learnt with.

    recording: what its sound is compared with.
    labels: those that it reads.
    index: of its training data.
    engines: that of the last sample with what it fits, for the next one: a new one takes time.
    """

    model: Network
    codec: Codec
    recording: Recording | None = None
    labels: Labels | None = None
    index: Index | None = None
    engines: list[tuple[object, Engine]] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Prompt:
    """What a sample continues: a text, or a file of text or of sound; by default nothing."""

    text: str | None = None
    file: str | None = None
    audio: str | None = None
    unknown: str = "error"
    """What becomes of characters that the model never saw: error, skip or nearest."""


@dataclass(frozen=True)
class Request:
    """How a prompt is continued."""

    length: int
    """New symbols of each stream."""
    streams: int = 1
    takes: int = 1
    """How many of the streams are takes, of which one is kept: all of them, or 1 for none."""
    sampling: Sampling = Sampling()
    seed_is_drawn: bool = False
    """Whether nobody gave the seed, so that it is told."""
    engine: str = "auto"
    precision: str = "auto"
    label: str | None = None
    label_strength: float = 1.0
    ending: Ending | None = None
    """What ends a stream before its length."""
    extra: int = 0
    """How much of the length is made for a choice of where a loop begins; 0 for no loop."""

    def size(self, codec: Codec) -> int:
        """How many symbols are drawn from: those of a codec, and the end of a document if asked."""
        return codec.size + bool(self.ending and self.ending.is_document)


def require_streams(model: ModelConfig, streams: int, device: Device, key: str = "streams") -> None:
    """Refuse streams that cannot fit; `key` asks for them. Raises DeviceError."""
    each_layer, each_unit, each_symbol = _ON_GPU if device.type == "cuda" else _ON_CPU
    of_units = (each_layer * model.num_layers + each_unit) * model.hidden_size
    needed = streams * (of_units + each_symbol * model.vocabulary_size)
    machine.require_memory(needed, f"{key}={streams}", "Give fewer.", device)
