"""`score`: how surprising a model finds every symbol, as lines of JSON or as a page."""

import contextlib
import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from seqkit.advice.surprise_of_sound import SurpriseOfSound
from seqkit.advice.surprise_of_text import ALTERNATIVES, Names, SurpriseOfText, contents_of, text_of
from seqkit.api import checkpoint_data
from seqkit.commands import outputs
from seqkit.config import Config, ModelConfig
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.file_search import Search
from seqkit.data.labels import Combination, distinct
from seqkit.data.shards import reading
from seqkit.evaluation import cell_search, scoring
from seqkit.evaluation.surprise import Cell, Stretch, Wanted, stretches
from seqkit.foundation import device, machine
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, unseen
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.stdout import Product
from seqkit.model.cells import activation_name
from seqkit.model.char_rnn import CharRNN
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.named_checkpoint import load_checkpoint

_SEARCH = "search"
_TOLD, _LABELS = 5, 60  # places and labels on stderr
_LINES = 1 << 14  # that are written at once

Write = Callable[[bytes], object]


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Write every symbol's surprise, or which cells follow what, to stdout or `out`."""
    out = outputs.result_file(config)
    saved = load_checkpoint(config.checkpoint, catalogue, console)
    cell = _cell_of(config.neuron, saved.model)
    is_page = out is not None and out.suffix.lower() in (".html", ".htm")
    if config.neuron == _SEARCH and is_page:
        raise ConfigError("neuron=search writes lines of JSON: give another name as out")
    chosen = device.choose_device(config.device)
    part, corpus = checkpoint_data.asked_for(config, saved, catalogue, console)
    scoring.require_memory([saved.model], len(part), chosen)
    with (
        machine.memory_errors("Try device=cpu."),
        outputs.result_stream(out, overwrite=config.overwrite) as write,
    ):
        model, codec = saved.build(chosen), saved.codec
        places: Sequence[object] = ()
        if config.neuron == _SEARCH:
            _search(model, codec, part, write, console)
        else:
            likeliest = 0 if not is_page or isinstance(codec, Quantiser) else ALTERNATIVES
            wanted = Wanted(codec.size, likeliest, cell)
            documents = _documents(config, saved, corpus)
            lines = None if is_page else write
            scored, of_labels = _score(model, codec, part, documents, wanted, lines, console)
            for each, bits in of_labels.items():
                assert saved.labels is not None
                console.notice(f"label={saved.labels.describe(each)}: {bits:.4f} bits per symbol")
            places = scored.places(_TOLD)
            if is_page:
                shown = f"Cell {cell}, {activation_name(saved.model.cell)}" if cell else ""
                write(scored.page(Names(corpus.name, saved.name or str(saved.file), shown)))
    for place in places:
        console.notice(f"most surprising: {place}")
    if out:
        console.notice(f"written: {out}")


def _documents(config: Config, saved: Checkpoint, corpus: Corpus) -> list[str]:
    """The file of each document, in the corpus's order; none where a file may have several."""
    data = saved.as_read(config.data) if config.data.path else checkpoint_data.recorded(saved)
    cut = corpus.picks_documents and not config.data.path
    if cut or not data.path or data.of_rows or data.cuts_files or reading.folder_of(data):
        return []
    with contextlib.suppress(DataError):
        paths = Search.of(data, saved.codec.kind).named([*map(Path, data.path)])
        return [str(paths.get(name, name)) for name, _ in corpus.files]
    return []


def _score(
    model: CharRNN,
    codec: Codec,
    part: Part,
    documents: Sequence[str],
    wanted: Wanted,
    write: Write | None,
    console: Console,
) -> tuple[SurpriseOfText | SurpriseOfSound, dict[Combination, float]]:
    """Score all symbols; their lines go to `write`. With it come the bits of labels."""
    scored: SurpriseOfText | SurpriseOfSound
    if isinstance(codec, Quantiser):
        scored = SurpriseOfSound(part, codec, documents)
        shown = [str(level) for level in range(codec.size)]
    else:
        contents = contents_of(codec)
        scored = SurpriseOfText(part, contents, documents)
        shown = [_as_json(content) for content in contents]
    # Lines that run through a terminal leave no room for a bar.
    progress = unseen if write and Product().terminal else console.progress
    none = np.zeros((0, 1), np.int64)
    combinations, kinds = distinct(none if part.labels is None else part.labels)
    nats, counts = np.zeros((2, len(combinations)))
    with progress("score", len(part), unit="symbols") as bar:
        for stretch in stretches(scoring.Scored(model, part, codec.start, bar.update), wanted):
            scoring.require_numbers(stretch.nats)
            scored.add(stretch)
            if part.labels is not None:
                places = np.arange(stretch.begin, stretch.end)
                kind = kinds[np.searchsorted(part.starts, places, side="right") - 1]
                nats += np.bincount(kind, stretch.nats, len(nats))
                counts += np.bincount(kind, None, len(nats))
            if write:
                for lines in _lines(part, stretch, shown):
                    write(lines)
    bits = (nats / np.maximum(counts, 1) / math.log(2)).tolist()
    return scored, dict(zip(map(tuple, combinations[:_LABELS].tolist()), bits, strict=False))


def _lines(part: Part, stretch: Stretch, shown: Sequence[str]) -> Iterator[bytes]:
    """An object for each symbol; `shown` is JSON that says what each symbol stands for."""
    for begin in range(stretch.begin, stretch.end, _LINES):
        block = stretch.cut(begin, min(begin + _LINES, stretch.end))
        places = np.arange(block.begin, block.end)
        numbers = np.searchsorted(part.starts, places, side="right")
        offsets = places - part.starts[numbers - 1] + np.where(numbers == 1, len(part.before), 0)
        documents = numbers + part.documents_before
        symbols = part.symbols[block.begin : block.end].tolist()
        rows = zip(documents.tolist(), offsets.tolist(), symbols, block.nats.tolist(), strict=True)
        lines = [
            f'{{"document": {document}, "offset": {offset}, "symbol": {shown[symbol]}, '
            f'"nats": {nats:.4f}'
            for document, offset, symbol, nats in rows
        ]
        if len(block.activations):
            values = block.activations.tolist()
            lines = [
                f'{line}, "activation": {value:.4f}'
                for line, value in zip(lines, values, strict=True)
            ]
        yield "".join(f"{line}}}\n" for line in lines).encode()


def _as_json(content: str | bytes) -> str:
    """A character, or the number of a byte."""
    if isinstance(content, bytes):
        return json.dumps(content[0] if len(content) == 1 else [*content])
    return json.dumps(content)


def _cell_of(neuron: str | None, model: ModelConfig) -> Cell | None:
    """The cell that the key names; None for none, or for a search.

    Raises:
        ConfigError: it is no cell of this model.
    """
    if neuron in (None, _SEARCH):
        return None
    match = re.fullmatch(r"(\d+):(\d+)", neuron or "", re.ASCII)
    layers, cells = model.num_layers, model.hidden_size
    if match is None or int(match[1]) >= layers or int(match[2]) >= cells:
        raise ConfigError(
            f"neuron={neuron}: give search, or LAYER:INDEX; of this model they go from 0:0 to "
            f"{layers - 1}:{cells - 1}"
        )
    return Cell(int(match[1]), int(match[2]))


def _search(model: CharRNN, codec: Codec, part: Part, write: Write, console: Console) -> None:
    """Write the cells that best follow each trait, as lines of JSON."""
    if len(part) > cell_search.MOST:
        console.notice(f"the search reads the first {cell_search.MOST:,} of {len(part):,} symbols")
        starts = part.starts[part.starts < cell_search.MOST]
        part = dataclasses.replace(part, symbols=part.symbols[: cell_search.MOST], starts=starts)
    if isinstance(codec, Quantiser):
        traits = cell_search.traits_of_sound(codec.along(part.symbols), codec.symbol_rate)
    else:
        texts = [text_of(content) for content in contents_of(codec)]
        traits = cell_search.traits_of_text(texts, part.symbols[:], part.starts)
    with console.progress("search", len(part), unit="symbols") as bar:
        scored = scoring.Scored(model, part, codec.start, bar.update)
        followers = cell_search.search(scored, traits)
    if not traits:
        console.notice("nothing in this data changes that a cell could follow")
    for trait, cell, correlation in followers:
        line = {"trait": trait, "cell": str(cell), "correlation": round(correlation, 4)}
        write(f"{json.dumps(line)}\n".encode())
