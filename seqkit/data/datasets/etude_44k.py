"""The étude with all that can be heard, for `recipe=my_sound`."""

from seqkit.data.datasets import Folders, Located, etude

SAMPLE_RATE = 44_100
PICK, NOISE = 28, 12
"""A soft pick, and draws by which no string's harmonics are louder than its note."""


def locate(folders: Folders) -> Located:
    """The étude at 44.1 kHz as a WAV in the cache."""
    return etude.located(folders, "etude_44k", SAMPLE_RATE, PICK, NOISE)
