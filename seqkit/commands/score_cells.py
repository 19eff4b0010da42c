"""`score neuron=…`: one cell of a network, or a search for those that follow something."""

import dataclasses
import json
import re
from collections.abc import Callable, Sequence

from seqkit.config import ModelConfig
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Part
from seqkit.evaluation import cell_search, traits
from seqkit.evaluation.cell_search import MOST
from seqkit.evaluation.surprise import Cell
from seqkit.foundation.command_line import command_line
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.escaping import visible
from seqkit.model.cells import quantity
from seqkit.model.char_rnn import CharRNN
from seqkit.report import html
from seqkit.report.surprise_of_text import Names, contents_of, text_of
from seqkit.symbols import Floats

SEARCH = "search"


def cell_of(neuron: str | None, model: ModelConfig) -> Cell | None:
    """The cell that the key names; None for none, or for a search.

    Raises:
        ConfigError: it is no cell of this model.
    """
    if neuron in (None, SEARCH):
        return None
    found = re.fullmatch(r"(\d+):(\d+)", neuron or "", re.ASCII)
    layers, cells = model.num_layers, model.hidden_size
    if found is None or int(found[1]) >= layers or int(found[2]) >= cells:
        raise ConfigError(
            f"neuron={neuron}: give search, or LAYER:INDEX; of this model they go from 0:0 to "
            f"{layers - 1}:{cells - 1}"
        )
    return Cell(int(found[1]), int(found[2]))


def search(
    model: CharRNN,
    codec: Codec,
    part: Part,
    names: Names,
    again: Sequence[str] | None,
    write: Callable[[bytes], object],
    console: Console,
) -> None:
    """Write the cells that best follow each trait.

    They are lines of JSON, or a page if the words of the command are given that scores the same.
    """
    if len(part) > MOST:
        console.notice(f"the search reads the first {MOST:,} of {len(part):,} symbols")
        starts = part.starts[part.starts < MOST]
        part = dataclasses.replace(part, symbols=part.symbols[:MOST], starts=starts)
    found = _traits(part, codec)
    with console.progress("search", len(part), unit="symbols") as bar:
        followers = cell_search.search(model, part, found, start=codec.start, watch=bar.update)
    if not found:
        console.notice("nothing in this data changes that a cell could follow")
    if again is None:
        for trait, cell, correlation in followers:
            line = {"trait": trait, "cell": str(cell), "correlation": round(correlation, 4)}
            write(f"{json.dumps(line)}\n".encode())
        return
    words = [(*again, f"neuron={one.cell}", "out=cell.html") for one in followers]
    values = {
        "name": visible(names.data),
        "model": visible(names.model),
        "quantity": quantity(model.config.cell),
        "symbols": len(part),
        "rows": [
            (one.trait, str(one.cell), f"{one.correlation:+.3f}", visible(command_line(*given)))
            for one, given in zip(followers, words, strict=True)
        ],
    }
    write(html.render("cell_table.html", values))


def _traits(part: Part, codec: Codec) -> dict[str, Floats]:
    """What a cell may follow in this data, by name."""
    if isinstance(codec, Quantiser):
        return traits.of_sound(codec.along(part.symbols), codec.symbol_rate)
    texts = [text_of(content) for content in contents_of(codec)]
    return traits.of_text(texts, part.symbols[:], part.starts)
