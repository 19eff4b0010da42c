"""Command lines as they are told to the user, who copies them into a shell."""

import os
import shlex

from seqkit.foundation.processes import ALONE, Place


def command_line(*words: str, place: Place = ALONE) -> str:
    """`python -m seqkit` with these words, each quoted so that it arrives letter for letter.

    For a process that is one of several it is torchrun's, which starts as many. Of several machines
    one does not know how many processes the others have: the options of torchrun are left open.
    """
    return " ".join([_launcher(place), "-m seqkit", *map(_quoted, words)])


def _launcher(place: Place) -> str:
    if place.size == 1:
        return "python"
    if place.size == place.local_size:
        return f"torchrun --standalone --nproc-per-node={place.size}"
    return "on each machine, torchrun …"


def _quoted(word: str) -> str:
    """A word as shells read it; what a terminal would not show is written as $'…' has it."""
    if word.isprintable():
        return shlex.quote(word)
    letters = (
        letter
        if letter.isprintable() and letter not in "'\\"
        else "".join(f"\\{byte:03o}" for byte in os.fsencode(letter))
        for letter in word
    )
    return f"$'{''.join(letters)}'"
