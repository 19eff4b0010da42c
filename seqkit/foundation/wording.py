"""What people read: numbers, texts of users with nothing hidden in them, command lines, pages."""

import os
import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seqkit.foundation.processes import ALONE, Rank

_INVISIBLE = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
"""Unicode's categories of characters that have no shape of their own, or act on others."""
_JOINERS = "\u200c\u200d"  # they belong to the spelling of some languages, and to emoji

_ESCAPE = re.compile(r"\\([nt\\])")
_ESCAPED = {"n": "\n", "t": "\t", "\\": "\\"}


def composed(text: str) -> str:
    """A text with each letter and its accents as one character where there is one, to compare."""
    return unicodedata.normalize("NFC", text)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with as many cells each as lines, every column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (map(str.ljust, row, widths) for row in rows)
    return ["  ".join(cells).rstrip() for cells in lines]


def duration(seconds: float) -> str:
    """Seconds as 0:42, 3:07 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counted(count: float, noun: str, plural: str = "") -> str:
    """A count with its noun, as 1 file or 1.5 minutes; a `plural` of its own as in 2 copies."""
    return f"{count:.15g} {noun if count == 1 else plural or noun + 's'}"


def first_of(items: Sequence[object], most: int = 3) -> str:
    """The first few of some items, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(map(str, items[:most])) + more


def percent(share: float) -> str:
    """A share with two digits, as 0.92 %; of less than all, 99 % at most."""
    return f"{min(100 * share, 99):.2g} %" if share < 1 else "100 %"


def visible(text: str) -> str:
    """A text in which nothing hides: control and direction marks are written out, as \\u202e.

    Newlines and tabs stay. The bytes of file names that are no UTF-8 become \\xe9.
    """
    return _escaped(text, "\n\t" + _JOINERS)


def visible_line(text: str) -> str:
    """The same in one line: newlines and tabs are written out, too."""
    return _escaped(text, _JOINERS)


def unescaped(text: str) -> str:
    r"""A text in which \n, \t and \\ stand for a line end, a tab and a backslash."""
    return _ESCAPE.sub(lambda match: _ESCAPED[match[1]], text)


def page(template: Path, values: Mapping[str, Any]) -> bytes:
    """The page that one of Jinja's templates makes of values, each escaped, as UTF-8.

    It is one file; templates beside this one can be included.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # which take a while

    environment = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False}
    return environment.get_template(template.name).render(values).encode("utf-8", "replace")


def _escaped(text: str, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        _written_out(c) if unicodedata.category(c) in _INVISIBLE and c not in kept else c
        for c in text
    )


def _written_out(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # Python's stand-in for a byte (surrogateescape)
        return f"\\x{ord(character) - 0xDC00:02x}"
    return repr(character)[1:-1]


def command_line(*words: str, plugins: Sequence[str] = (), rank: Rank = ALONE) -> str:
    """`python -m seqkit` with these words, each quoted so that it arrives letter for letter.

    `plugins` are modules that have to be given, too. For a process that is one of several the line
    is torchrun's, which starts as many. Of several machines one does not know how many processes
    the others have: the options of torchrun are left open.
    """
    launcher = "python"
    if rank.size > 1 and rank.size == rank.local_size:
        launcher = f"torchrun --standalone --nproc-per-node={rank.size}"
    elif rank.size > 1:
        launcher = "on each machine, torchrun …"
    modules = [f"plugins={','.join(plugins)}"] if plugins else []
    return " ".join([launcher, "-m seqkit", *map(_quoted, (*words, *modules))])


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
