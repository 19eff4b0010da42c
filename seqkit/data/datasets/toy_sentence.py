"""One sentence, eight times: what the network of docs/how/cudnn.md is to learn by heart."""

from seqkit.data.datasets import Folders, Located
from seqkit.foundation import disk

SENTENCE = "one sentence is all that it has to know.\n"
TIMES = 8


def locate(folders: Folders) -> Located:
    """The text, written to the cache."""
    path = folders.cache / "datasets" / "toy_sentence.txt"
    if not path.exists():
        with disk.atomic_write(path) as stream:
            stream.write((SENTENCE * TIMES).encode())
    return Located(path, "toy_sentence")
