"""A part of a corpus of sound as its samples, which are decoded where they are asked for."""

from collections.abc import Iterator
from dataclasses import dataclass

from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.data.sound import Frames, Wave


@dataclass(frozen=True)
class SoundPart:
    """A part (N,) of symbols, P in a frame of K samples; a slice gives some of its wave (K N / P,).

    A sample is the mean of all channels. Those of many hours do not fit into memory.
    """

    part: Part
    codec: Quantiser

    def __len__(self) -> int:
        return self.codec.samples_of(len(self.part))

    def __getitem__(self, places: slice) -> Wave:
        begin, end, _ = places.indices(len(self))
        wave: Wave = self.frames(begin, end).mean(1)
        return wave

    def frames(self, begin: int, end: int) -> Frames:
        """The samples of all channels from `begin` to before `end`, (n, C)."""
        phases, bands = self.codec.phases, self.codec.bands
        first, last = max(begin - self.codec.memory, 0) // bands, -(-end // bands)
        frames = self.codec.frames(self.part.symbols[first * phases : last * phases])
        return frames[begin - first * bands : end - first * bands]

    def blocks(self, size: int) -> Iterator[Frames]:
        """All samples, (n, C), so many at a time."""
        return (self.frames(begin, begin + size) for begin in range(0, len(self), size))
