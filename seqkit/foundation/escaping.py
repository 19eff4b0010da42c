"""Text of users, their data and their models, as it is given to people and to other programs."""

import json
import re
import unicodedata

_INVISIBLE = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
"""Unicode's categories of characters that have no shape of their own, or act on others."""
_JOINERS = "\u200c\u200d"  # they belong to the spelling of some languages, and to emoji

_CONTROLS = (  # Unicode gives them no names; these are those of ASCII
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR"),
    *("SO", "SI", "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB"),
    *("ESC", "FS", "GS", "RS", "US"),
)


def visible(text: str) -> str:
    """A text in which nothing hides: control and direction marks are written out, as \\u202e.

    Newlines and tabs stay. The bytes of file names that are no UTF-8 become \\xe9.
    """
    return _escaped(text, "\n\t" + _JOINERS)


def visible_line(text: str) -> str:
    """The same in one line: newlines and tabs are written out, too."""
    return _escaped(text, _JOINERS)


def character_name(character: str) -> str:
    """The name that Unicode gives a character, or ASCII a control character; empty without one."""
    if ord(character) < len(_CONTROLS):
        return _CONTROLS[ord(character)]
    return unicodedata.name(character, "")


def json_text(value: object, indent: int | None = None) -> str:
    """JSON in ASCII that every parser takes.

    Half a surrogate pair, as a file name that is no UTF-8 has it, is not JSON to many of them: it
    is written out as in `visible`.
    """
    text = json.dumps(value, indent=indent)
    if not re.search(r"\\ud[89a-f]", text):
        return text
    raw = json.dumps(value, ensure_ascii=False)
    whole = re.sub("[\ud800-\udfff]", lambda half: _written_out(half[0]).replace("\\", r"\\"), raw)
    return json.dumps(json.loads(whole), indent=indent)


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
