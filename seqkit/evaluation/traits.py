"""What a cell may follow in a text or in sound: one number for every symbol.

Each is of the moment before the symbol, as the activations of cells are: of the symbols that the
network has read by then. Only the length of a line looks ahead.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from seqkit.data.sound import Wave
from seqkit.symbols import Floats, Integers, Symbols

_OPENING, _CLOSING = "\u201c\u00ab", "\u201d\u00bb"  # quotation marks that say which they are
_BRACKETS, _BRACKETS_CLOSED = "([{", ")]}"
_FRAME = 0.025  # seconds
_SILENT = 0.01  # of the loudest frame's RMS
_PITCHES = (60, 400)  # hertz of a voice
_PERIODIC = 0.5  # correlation of a voiced frame with itself, one period later


def of_text(texts: Sequence[str], symbols: Symbols, starts: Integers) -> dict[str, Floats]:
    """The traits of symbols (N,) of some documents; one that is the same everywhere is left out.

    `texts` says what each symbol stands for.
    """
    after: dict[str, list[float]] = {
        "quotes": [], "brackets": [], "place in the line": [], "indentation": []
    }  # fmt: skip
    begins = set(starts.tolist())
    quoted, depth, column, indent, leading = False, 0, 0, 0, True
    for place, symbol in enumerate(symbols.tolist()):
        if place in begins:
            quoted, depth, column, indent, leading = False, 0, 0, 0, True
        for values, now in zip(after.values(), (quoted, depth, column, indent), strict=True):
            values.append(now)
        for character in texts[symbol]:
            if character == "\n":
                quoted = quoted and column > 0  # an empty line ends every quotation
                depth = depth if column else 0
                column, indent, leading = 0, 0, True
                continue
            column += 1
            leading = leading and character in " \t"
            indent += leading
            if character == '"':
                quoted = not quoted
            elif character in _OPENING + _CLOSING:
                quoted = character in _OPENING
            elif character in _BRACKETS:
                depth += 1
            elif character in _BRACKETS_CLOSED:
                depth = max(depth - 1, 0)
    found = {name: np.array(values, np.float32) for name, values in after.items()}
    ends = [place for place, symbol in enumerate(symbols.tolist()) if "\n" in texts[symbol]]
    edges = np.unique([*starts.tolist(), *(end + 1 for end in ends), len(symbols)])
    found["length of the line"] = np.repeat(np.diff(edges), np.diff(edges)).astype(np.float32)
    return _varying(found)


def of_sound(wave: Wave, sample_rate: int) -> dict[str, Floats]:
    """Whether a wave (N,) is voiced, and whether it is silent, frame by frame: 0 or 1."""
    size = max(2, round(_FRAME * sample_rate))
    count = len(wave) // size
    frames = wave[: count * size].reshape(count, size).astype(np.float64)
    loudness = np.sqrt(np.square(frames).mean(axis=1)) if count else np.zeros(0)
    silent = loudness <= _SILENT * max(float(loudness.max(initial=0.0)), 1e-9)
    voiced = np.array([_is_periodic(frame, sample_rate) for frame in frames], bool) & ~silent
    spread = {"voiced": voiced, "silent": silent}
    found = {
        name: np.pad(np.repeat(flags, size), (0, len(wave) - count * size), "edge")
        if count
        else np.zeros(len(wave))
        for name, flags in spread.items()
    }
    return _varying({name: values.astype(np.float32) for name, values in found.items()})


def _is_periodic(frame: npt.NDArray[np.float64], sample_rate: int) -> bool:
    """Whether a frame (n,) is much like itself one period of a voice later."""
    centred = frame - frame.mean()
    power = np.abs(np.fft.rfft(centred, 2 * len(centred))) ** 2
    correlation = np.fft.irfft(power)
    first, last = (sample_rate // pitch for pitch in reversed(_PITCHES))
    lags = np.arange(max(first, 1), min(last, len(frame) - 1))
    if not len(lags) or correlation[0] <= 0:
        return False
    whole = correlation[lags] * len(frame) / (len(frame) - lags) / correlation[0]
    return bool(whole.max() > _PERIODIC)


def _varying(found: Mapping[str, Floats]) -> dict[str, Floats]:
    return {name: values for name, values in found.items() if np.ptp(values) > 0}
