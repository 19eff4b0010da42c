"""What data are like, and what is wrong with them: faults that are told, and too little of them."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from unicodedata import category

import numpy as np

from seqkit.config import DataConfig, TrainConfig
from seqkit.data.codecs import Characters, Codec, Quantiser, SoundCodec, TextCodec
from seqkit.data.corpus import Corpus, Part
from seqkit.data.encoders import RETURNS, SINGLE_BYTE, rewritten
from seqkit.data.sound.part import without_silence
from seqkit.data.sound.reader import CHANNEL, oddity
from seqkit.evaluation.baselines import histogram_bits
from seqkit.foundation.errors import DataError
from seqkit.foundation.wording import counted, first_of, percent
from seqkit.symbols import Integers

CONSTANT = "the content is one symbol, again and again: there is nothing to learn from it"
_BLOCK = 1 << 15  # symbols counted at a time; larger ones fragment the process's memory
_FEW = 10  # times that a symbol has to occur at least to be learnt
_SHORT, _SHORT_LIST = 100_000, 20_000  # symbols, below which much is learnt by heart
_RARE, _KNOWN, _LOST = 0.5, 0.9, 0.02  # of the vocabulary, and of all symbols
_QUIET = 0.03  # of full scale: the 256 levels of mu-law come to 95 within it
_LEAST = 10.0  # seconds from which a model makes anything like it
_SILENCE = 0.5
_SHOWN = 40  # symbols
_UNSEEN, _MEANT = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"), {*"\t\n\v\f\r\u200c\u200d"}
"""Categories of characters without a shape, and those of them that text has for good reasons."""
_ESCAPE = re.compile(
    r"\\(?:u[\da-fA-F]{4}|x[\da-f]{2}|n(?![a-z]))|&(?:[a-zA-Z]{2,8}|#x?[\da-fA-F]{2,6});|"
    r"=(?:[89A-F][\dA-F]|\r?$)|%[\dA-F]{2}|_x[\dA-F]{4}_|<U\+[\dA-F]{4,}>|\(cid:\d+\)|~\{[!-~]+~\}|"
    r"\+[A-Za-z\d/]{3,}-|</[a-zA-Z][\w:-]*>|^[A-Za-z\d+/]{60,}=*\r?$",
    re.MULTILINE,
)
"""Of JSON, Python, mail, URLs, HTML and its like, spreadsheets, PDF, HZ, UTF-7 and base64."""
_WHOLE = 0.8  # of the letters that are none of ASCII
_PACKED = re.compile(r"(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[A-Za-z\d+/]{60,}")
_MUCH, _FLAT = 0.2, 5.7  # of all characters, and bits: English has 4.5, programs 5, base64 6
_MENDED = {
    "\b": r"s/[^\x80-\xbf][\x80-\xbf]*\x08//g",
    "\x1b": r"s/\x1b\[[0-9;?]*[A-Za-z]//g",
    "\u00a0": r"s/\xc2\xa0/ /g",
    "\u2028": r"s/\xe2\x80\xa8/\n/g",
    "\u2029": r"s/\xe2\x80\xa9/\n/g",
}
"""What perl does about letters that are overstruck, colours of a terminal, spaces, line ends."""
_SPOKEN = r"s/^(.* --> |WEBVTT|Kind:|Language:).*\n//; s/^(\xef\xbb\xbf)?\d+\n//; s/<[^<>\n]*>//g"
_READ = 1 << 20  # characters, in which escapes are looked for
_MOST_MENDED = 8  # kinds of characters; with more it is another fault
_OFTEN = 0.001  # times the characters; in pages and in programs there are fewer
_MOST_JUDGED = 0.3  # of all sound, that is not learnt from
_SAMPLES = 1 << 16  # samples read at a time
_LOWEST = -120.0  # decibels; what is quieter counts as this
_TRIM = 40  # decibels, of `data.trim_silence`
_MOST = 1 << 22  # samples that are read before a training, for the memory and the time


@dataclass(frozen=True)
class Fault:
    """What is wrong and what to do about it, in a line; and the keys that do it, if any.

    They are `init_from`, or those of `data`, without that; `doctor` puts them into its command.
    """

    line: str
    keys: Mapping[str, Any] = field(default_factory=dict)


Rule = tuple[object, str] | tuple[object, str, Mapping[str, Any]]
"""A condition, the line that tells of it, and the keys that mend it, if any do."""


def told(*rules: Rule) -> list[Fault]:
    """The faults of the rules that hold."""
    return [Fault(*rule[1:]) for rule in rules if rule[0]]


def require_enough(
    corpus: Corpus, split: list[float], train: TrainConfig, recipe: str | None
) -> None:
    """Refuse data of which a training would find too little, split so.

    Raises DataError: with the least that it needs, and how much there is.
    """
    needed = -(-2 * train.sequence_length // (1 + len(corpus.readings)))
    if (training := len(corpus.split(split)[0])) >= needed:
        return
    place, least, there = "", math.ceil(needed / split[0]), len(corpus.whole)
    if there >= least:  # the parts are files
        place, least, there = " in the training part", needed, training
    codec, wanted, has = corpus.codec, f"{least:,} symbols", f"{there:,} symbols"
    if codec.kind == "audio":
        wanted, has = f"{least / codec.symbol_rate:.2g} s", f"{there / codec.symbol_rate:.2g} s"
    elif not place:  # what a server said in place of the file is seen at a glance
        cut = "" if len(corpus.whole.starts) == 1 else ", the ends of documents not counted"
        has += f"{cut} ({codec.decode(corpus.whole.symbols[:_SHOWN])!r}{' …' * (there > _SHOWN)})"
    named = f"recipe={recipe}" if recipe else "this training"
    raise DataError(
        f"too little data{place}: {has}, and {named} with train.sequence_length="
        f"{train.sequence_length} needs more: give at least {wanted}"
    )


def text_facts(part: Part, codec: Codec) -> dict[str, Any]:
    """What doctor json=true gives of a text: docs/reference/doctor.md has the fields."""
    counts: Integers = np.zeros(codec.size, np.int64)
    for begin in range(0, len(part), _BLOCK):
        counts += np.bincount(part.symbols[begin : begin + _BLOCK], minlength=codec.size)
    vocabulary = codec.vocabulary if isinstance(codec, Characters) else ""
    names = vocabulary or [f"0x{symbol:02x}" for symbol in range(codec.size)]
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist()
    frequent = {names[symbol]: int(counts[symbol]) for symbol in order}
    return {"vocabulary": {"size": codec.size, "counts": frequent}}


def text_faults(
    part: Part, codec: TextCodec, facts: Mapping[str, Any], data: DataConfig
) -> list[Fault]:
    """The faults of a text, or of bytes, of which `text_facts` has the facts; the worst first."""
    is_list = data.document == "line"
    kind = codec.kind
    noun, counts = "text" if kind == "text" else "content", facts["vocabulary"]["counts"]
    occurring, symbols = len(counts), sum(counts.values())
    if occurring == 1:
        return [Fault(CONSTANT)]
    if not "".join(counts).strip():
        return [Fault("the text is blank: there is nothing to learn from it")]
    short = not is_list and symbols < _SHORT
    known = sum(n for name, n in counts.items() if name.isascii())  # by the model shakespeare
    helps = short and kind == "text" and not data.label and known >= _KNOWN * symbols
    start = " or start with init_from=shakespeare:" if helps else ""
    rare = [n for n in counts.values() if n < _FEW]
    most, lost = max(1, occurring - len(rare)), sum(rare) / symbols
    remedy, fewer = "give more of it", dict[str, Any]()
    if lost <= _LOST:
        remedy = f"read it with data.max_vocabulary={most} data.unknown=skip to leave them out"
        fewer = {"max_vocabulary": most, "unknown": "skip"}
    return content_faults(part, codec, facts, data) + told(
        (
            is_list and symbols < _SHORT_LIST,
            f"the list is short, {symbols:,} symbols: below {_SHORT_LIST:,} a network learns "
            "entries by heart: give more (examples/new_names.py leaves out the list's own)",
        ),
        (
            short,
            f"the {noun} is short, {symbols:,} symbols: below {_SHORT:,} a network learns much of "
            f"it by heart: give more,{start} see docs/reference/writers.md",
            {"init_from": "shakespeare"} if helps else {},
        ),
        (
            kind == "text" and len(rare) > _RARE * occurring and not helps,  # or they are known
            f"{len(rare):,} of {occurring:,} symbols occur fewer than {_FEW} times, too few to "
            f"learn, and make up {percent(lost)} of the {noun}: {remedy}",
            fewer,
        ),
    )


def content_faults(
    part: Part, codec: TextCodec, facts: Mapping[str, Any], data: DataConfig
) -> list[Fault]:
    """What a text of characters, read by these keys, holds that its owner may not know of."""
    if not isinstance(codec, Characters):
        return []
    counts, begin = facts["vocabulary"]["counts"], codec.decode(part.symbols[:_READ])
    lost = re.findall(r"(?<!\?)[^\W\d]\?[^\W\d](?!\w*=)", begin)  # none of mail and URLs
    returns, replaced = counts.get("\r", 0), counts.get("\ufffd", 0)
    unseen = {c: n for c, n in counts.items() if c not in _MEANT and category(c) in _UNSEEN}
    if garbled := _is_garbled(begin[:_BLOCK]):
        unseen = {}
    if (wide := counts.get("\u00a0", 0)) > max(counts.get(" ", 0) / 4, _FEW):
        unseen["\u00a0"] = wide  # a space, more often than French has it
    has_times = begin.count(" --> ") > max(_OFTEN * len(begin), _FEW)
    changes = [RETURNS] * (returns > 0)
    if len(unseen) <= _MOST_MENDED:
        written = {c: "".join(f"\\x{byte:02x}" for byte in c.encode()) for c in unseen}
        changes += [_MENDED.get(c, f"s/{code}//g") for c, code in written.items()]
    changes += [_SPOKEN] * has_times
    mend = f"; {rewritten(data.path, '; '.join(changes))} mends it" if changes else ""
    if changes and data.encoding not in ("utf-8", "ascii"):  # of which the command knows nothing
        mend = "; of a copy in UTF-8 doctor tells a command that mends it"
    escapes = _ESCAPE.findall(begin)
    shown = [f"«{each[:_SHOWN].strip()}»" for each, _ in Counter(escapes).most_common()]
    return told(
        (
            garbled,
            "its letters seem to have been read in another encoding than their own, and saved so: "
            "convert the original again, or mend it with ftfy, a library for Python",
        ),
        (
            unseen,
            f"{counted(sum(unseen.values()), 'character')} cannot be seen "
            f"({first_of([f'U+{ord(c):04X}' for c in unseen])}), and the model would learn them, "
            f"unless they are meant: take them out, or convert the original otherwise{mend}",
        ),
        (
            len(lost) > max(_OFTEN * len(begin), _FEW),
            f"«{' '.join(lost[:1])}»: a question mark stands {counted(len(lost), 'time')} between "
            "letters, as for those that a conversion lost: convert the original again",
        ),
        (
            replaced,
            f"U+FFFD stands {counted(replaced, 'time')} for a character that a conversion lost: "
            "convert the original again, from the encoding that it is in",
        ),
        (
            returns,
            f"CR stands {counted(returns, 'time')}, as at line ends of Windows and old Macs, and a "
            f"model would learn it as a character{mend}",
        ),
        (has_times, f"it has the times of subtitles, which a model would learn{mend}"),
        (
            len(escapes) > max(_OFTEN * len(begin), _FEW),
            f"{first_of(shown)} stand {counted(len(escapes), 'time')}, and the model would learn "
            "them: take them out or decode them first, as Python's json, html, mailbox, quopri, "
            "base64 and urllib.parse do, unless they are meant",
        ),
        (
            len("".join(_PACKED.findall(begin))) > _MUCH * len(begin)
            or (begin.isascii() and histogram_bits(part.symbols[:_READ], codec.size) > _FLAT),
            "much of it looks like base64, or what is encrypted or packed: take such parts out, as "
            "the pictures of notebooks",
        ),
    )


def _is_garbled(begin: str) -> bool:
    """Whether a text that begins so was read in another encoding than its own, and saved so.

    Then its letters make UTF-8 in an older encoding, or those of Latin-1 are more than of ASCII.
    """
    letters = re.sub(r"[\0-\x7f]+", " ", begin)
    least = max(_WHOLE * len(letters.replace(" ", "")), _FEW)
    made = (letters.encode(each, "ignore") for each in ("latin-1", *SINGLE_BYTE))
    return (
        any(len(row.decode("utf-8", "ignore").replace(" ", "").encode()) > least for row in made)
        or sum("À" <= each <= "ÿ" for each in letters)
        > _WHOLE * sum(map(str.isalpha, begin))
        > _FEW
    )


def decibels(amplitude: float) -> float:
    """An amplitude in decibels of full scale, -120 at the lowest."""
    return max(_LOWEST, 20 * float(np.log10(max(amplitude, 1e-9))))


class Levels(NamedTuple):
    """How loud a sound is.

    silence: the share that `data.trim_silence=40` leaves out.
    peak: the largest distance from 0, before the gain; None of frames, whose phases take long.
    """

    silence: float
    peak: float | None


def levels_of(part: Part, codec: SoundCodec) -> Levels:
    """The levels of a corpus; of over 4.2 million samples those of blocks evenly among them."""
    size = codec.symbols_of(_SAMPLES)
    begins = range(0, len(part), size * -(-codec.samples_of(len(part)) // _MOST))
    blocks = [part.symbols[begin : begin + size] for begin in begins]
    read = Part.of(np.concatenate(blocks), frame=codec.phases)
    silence = 1 - len(without_silence(read, codec, _TRIM)) / len(read)
    if not isinstance(codec, Quantiser):
        return Levels(silence, None)
    return Levels(silence, float(np.abs(codec.decode(read.symbols)).max()))


def _oddity(corpus: Corpus, asked: str, said: str) -> Rule:
    """What is told of recordings, and the channel that mends it where all of them have it."""
    paths, channel = corpus.odd[said], CHANNEL.search(said)
    line, keys = oddity(said, paths), dict[str, Any]()
    if channel and len(paths) == len(corpus.files):
        keys = {"channel": channel[1]}
        line += f", or of all files data.channel={channel[1]}"
    return asked == "mix" or not channel, line, keys


def sound_faults(
    corpus: Corpus, data: DataConfig, levels: Levels | None = None, *, known: bool = False
) -> list[Fault]:
    """The faults of the sound as a model will hear it, read by these keys, the worst first.

    `levels` are those that it has. Whose codec was `known` before keeps the gain that it has.
    """
    part, codec = corpus.whole, corpus.codec
    assert codec.kind == "audio"
    if part.is_constant:
        return [Fault(CONSTANT)]
    levels, (_, judged, _) = levels or levels_of(part, codec), corpus.split(data.split)
    seconds, loudest = len(part) / codec.symbol_rate, 1.0
    if levels.peak is not None and isinstance(codec, Quantiser):
        loudest = levels.peak * codec.gain
    return told(
        (
            seconds < _LEAST,
            f"the sound is short, {seconds:.1f} s: {_LEAST:g} s is the least that makes anything "
            "like it, and a minute is better",
        ),
        (
            loudest < _QUIET and not known,
            f"the sound is quiet, {decibels(loudest):.0f} dB of full scale, where the quantiser "
            "has few levels: give data.gain=peak",
            {"gain": "peak"},
        ),
        (
            corpus.clipped and not known,
            f"{counted(corpus.clipped, 'sample')} over 1 clipped: give data.gain=peak to keep all",
            {"gain": "peak"},
        ),
        (
            len(judged) > max(2 * data.split[1], _MOST_JUDGED) * len(part),
            f"{percent(len(judged) / len(part))} of the sound are the validation part, since files "
            "are not cut: give more files, or data.split=1,0,0 to learn from all",
        ),
        *map(partial(_oddity, corpus, data.channel), corpus.odd),
        (
            levels.silence > _SILENCE and not data.trim_silence,
            f"about {levels.silence:.0%} of the sound is silence, which the model will make, too: "
            f"leave it out with data.trim_silence={_TRIM}",
            {"trim_silence": float(_TRIM)},
        ),
    )
