"""Command lines as they are told to the user, who copies them into a shell."""

import os
import shlex


def command_line(*words: str) -> str:
    """`python -m seqkit` with these words, each quoted so that it arrives letter for letter."""
    return " ".join(["python -m seqkit", *map(_quoted, words)])


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
