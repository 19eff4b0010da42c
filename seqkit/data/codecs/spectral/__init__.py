"""Sound as a few codes a frame, some 60 to 170 frames a second.

    samples -> `transform` -> `layout` -> rows of numbers -> `books` -> codes
    codes -> `books` -> rows of numbers -> `layout` -> magnitudes -> `transform` -> samples

`codec` joins them.
"""

from seqkit.data.codecs.spectral.codec import CODES, SIZE, Spectral

__all__ = ["CODES", "SIZE", "Spectral"]
