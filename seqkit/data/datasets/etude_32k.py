"""The étude with all that can be heard, for `recipe=my_sound`."""

from seqkit.data.datasets import Folders, Located, etude

SAMPLE_RATE = 32_000
PICK = 16
"""A soft one: at this rate the strings' harmonics would be louder than the notes."""


def locate(folders: Folders) -> Located:
    """The étude at 32 kHz as a WAV in the cache."""
    return etude.located(folders, "etude_32k", SAMPLE_RATE, PICK)
