"""A part of a corpus of sound with its wave, decoded once for all that analyse it."""

from collections.abc import Callable
from functools import cached_property

from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.data.sound import Frames, Wave


class SoundPart:
    """A part (N,) of symbols, of which P make a frame, and its samples."""

    def __init__(
        self, part: Part, codec: Quantiser, decode: Callable[[], Frames] | None = None
    ) -> None:
        """`decode` gives the samples when they are asked for first; by default the codec does."""
        self.part = part
        self.codec = codec
        self._decode = decode or (lambda: codec.frames(part.symbols[:]))

    @cached_property
    def frames(self) -> Frames:
        """The samples (N / P, C)."""
        return self._decode()

    @cached_property
    def mono(self) -> Wave:
        """The mean of all channels, (N / P,)."""
        wave: Wave = self.frames.mean(1)
        return wave

    def cut(self, part: Part, begin: int) -> "SoundPart":
        """A part of this one, which begins at a symbol of it."""
        first, count = begin // self.codec.phases, len(part) // self.codec.phases
        return SoundPart(part, self.codec, lambda: self.frames[first : first + count])
