"""`score`: how surprising a model finds every symbol, as lines of JSON or as a page."""

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from seqkit.advice.surprise_of_sound import SurpriseOfSound
from seqkit.advice.surprise_of_text import ALTERNATIVES, Names, SurpriseOfText, contents_of
from seqkit.api import checkpoint_data
from seqkit.commands import outputs
from seqkit.config import Config
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.file_search import Search
from seqkit.data.labels import Combination, distinct
from seqkit.data.shards import reading
from seqkit.evaluation import scoring
from seqkit.evaluation.surprise import Stretch, Wanted, stretches
from seqkit.foundation import device, machine
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, unseen
from seqkit.foundation.errors import DataError
from seqkit.foundation.stdout import Product
from seqkit.model.char_rnn import CharRNN
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.named_checkpoint import load_checkpoint

_TOLD, _LABELS = 5, 60  # places and labels on stderr
_LINES = 1 << 14  # that are written at once

Write = Callable[[bytes], object]


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Write every symbol's surprise to stdout or `out`."""
    out = outputs.result_file(config)
    saved = load_checkpoint(config.checkpoint, catalogue, console)
    is_page = out is not None and out.suffix.lower() in (".html", ".htm")
    chosen = device.choose_device(config.device)
    part, corpus = checkpoint_data.asked_for(config, saved, catalogue, console)
    scoring.require_memory([saved.model], len(part), chosen)
    with (
        machine.memory_errors("Try device=cpu."),
        outputs.result_stream(out, overwrite=config.overwrite) as write,
    ):
        model, codec = saved.build(chosen), saved.codec
        likeliest = 0 if not is_page or isinstance(codec, Quantiser) else ALTERNATIVES
        wanted, documents = Wanted(codec.size, likeliest), _documents(config, saved, corpus)
        lines = None if is_page else write
        scored, of_labels = _score(model, codec, part, documents, wanted, lines, console)
        for each, bits in of_labels.items():
            assert saved.labels is not None
            console.notice(f"label={saved.labels.describe(each)}: {bits:.4f} bits per symbol")
        if is_page:
            write(scored.page(Names(corpus.name, saved.name or str(saved.file))))
    for place in scored.places(_TOLD):
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
        yield "".join(f"{line}}}\n" for line in lines).encode()


def _as_json(content: str | bytes) -> str:
    """A character, or the number of a byte."""
    if isinstance(content, bytes):
        return json.dumps(content[0] if len(content) == 1 else [*content])
    return json.dumps(content)
