"""Sound as a few codes a frame, some 60 to 170 frames a second.

    samples -> `transform` -> `layout` -> rows of numbers -> `books` -> codes
    codes -> `books` -> rows of numbers -> `layout` -> magnitudes -> `transform` -> samples

`codec` joins them, and `choice` finds how long the windows of a recording should be.
"""

from seqkit.data.codecs.spectral.choice import LENGTHS, choose
from seqkit.data.codecs.spectral.codec import CODES, SIZE, Spectral

__all__ = ["CODES", "LENGTHS", "SIZE", "Spectral", "choose"]
