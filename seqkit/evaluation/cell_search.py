"""The cells that follow something best, and what they may follow: one number for every symbol.

In text that is quotes, brackets and lines, in sound voice and silence. Each is of the moment before
the symbol, as the activations of cells are: of the symbols that the network has read by then. Only
the length of a line looks ahead.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from seqkit.data.sound import Wave
from seqkit.data.sound.pitch import FRAMES, melody_of
from seqkit.evaluation import protocols, scoring
from seqkit.evaluation.scoring import Scored
from seqkit.evaluation.surprise import Cell
from seqkit.symbols import Floats, Integers, Symbols

MOST = 1 << 19
"""Symbols of a part that are worth reading for this."""
_SHOWN = 3  # cells of each trait
_OPENING, _CLOSING = "\u201c\u00ab", "\u201d\u00bb"  # quotation marks that say which they are
_BRACKETS, _BRACKETS_CLOSED = "([{", ")]}"
_SILENT = 40.0  # decibels below the loudest frame


class Follower(NamedTuple):
    """A cell whose activation goes with a trait: their correlation (Pearson's) over all symbols."""

    trait: str
    cell: Cell
    correlation: float


@torch.inference_mode()
def search(scored: Scored, traits: Mapping[str, Floats]) -> list[Follower]:
    """The cells that best follow each trait (N,) of a part (N,), the best first.

    The segments are those by which a training validates: `protocols.warmed`.
    """
    if not traits:
        return []
    columns = torch.from_numpy(np.stack([*traits.values()], axis=1)).double()
    columns = (columns - columns.mean(0)) / columns.std(0, correction=0)
    network = scored.model.runnable_weights(dtype=torch.float32)
    layers, size = scored.model.config.num_layers, scored.model.config.hidden_size
    sums, squares = torch.zeros(2, layers, size, dtype=torch.float64)
    products = torch.zeros(len(sums), size, len(traits), dtype=torch.float64)
    for chunk in scoring.chunks(scored, protocols.warmed(scored.part)):
        counted = torch.from_numpy(chunk.counted).to(chunk.nats.device)
        looked_at = columns[torch.from_numpy(chunk.places[chunk.counted])]
        for layer in range(len(sums)):  # one at a time, for the memory
            values = network.activations(chunk.trace, layer, slice(None))[counted].cpu().double()
            sums[layer] += values.sum(0)
            squares[layer] += values.square().sum(0)
            products[layer] += values.T @ looked_at
    count = len(scored.part)
    deviation = (squares / count - (sums / count).square()).clamp(min=0).sqrt()[..., None]
    # The traits have mean 0 and deviation 1; a cell that does not move follows none.
    correlations = (products / count / deviation.clamp(min=1e-6)).where(deviation > 1e-6, 0.0)
    followers = []
    for trait, column in zip(traits, correlations.flatten(0, 1).T.numpy(), strict=True):
        best = np.argsort(-np.abs(column), kind="stable")[:_SHOWN].tolist()
        followers += [Follower(trait, Cell(*divmod(row, size)), float(column[row])) for row in best]
    return followers


def traits_of_text(texts: Sequence[str], symbols: Symbols, starts: Integers) -> dict[str, Floats]:
    """The traits of symbols (N,) of some documents; one that is the same everywhere is left out.

    `texts` says what each symbol stands for.
    """
    rows = list[tuple[float, ...]]()
    begins = set(starts.tolist())
    quoted, depth, column, indent, leading = False, 0, 0, 0, True
    for place, symbol in enumerate(symbols.tolist()):
        if place in begins:
            quoted, depth, column, indent, leading = False, 0, 0, 0, True
        rows.append((quoted, depth, column, indent))
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
    names = "quotes", "brackets", "place in the line", "indentation"
    traits = dict(zip(names, np.array(rows, np.float32).T, strict=True))
    ends = [place for place, symbol in enumerate(symbols.tolist()) if "\n" in texts[symbol]]
    edges = np.unique([*starts.tolist(), *(end + 1 for end in ends), len(symbols)])
    traits["length of the line"] = np.repeat(np.diff(edges), np.diff(edges)).astype(np.float32)
    return _varying(traits)


def traits_of_sound(wave: Wave, sample_rate: int) -> dict[str, Floats]:
    """Whether a wave (N,) is voiced, and whether it is silent, frame by frame: 0 or 1."""
    size = max(1, round(sample_rate / FRAMES))
    if not len(wave):
        return {}
    notes, decibels = melody_of(wave, sample_rate, _SILENT).T
    flags = np.repeat([notes > 0, decibels <= decibels.max() - _SILENT], size, axis=1)
    voiced, silent = flags[:, : len(wave)].astype(np.float32)
    return _varying({"voiced": voiced, "silent": silent})


def _varying(traits: Mapping[str, Floats]) -> dict[str, Floats]:
    return {name: values for name, values in traits.items() if np.ptp(values) > 0}
