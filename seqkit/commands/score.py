"""`score`: how surprising a model finds every symbol, as lines of JSON or a page."""

import json
from collections.abc import Iterator, Sequence

import numpy as np

from seqkit.advice.surprise import ALTERNATIVES, Surprise, contents_of
from seqkit.api import checkpoint_data
from seqkit.commands import outputs
from seqkit.config import Keys
from seqkit.data.corpus import Corpus, Part
from seqkit.evaluation import scoring
from seqkit.evaluation.streaming import Stretch, stretches
from seqkit.foundation import device
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, unseen
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Session
from seqkit.foundation.stdout import Product
from seqkit.runs.named_checkpoint import load_checkpoint

_TOLD = 5  # places on stderr
_LINES = 1 << 14  # that are written at once
_PAGE = ".html"


def run(keys: Keys, catalogue: Catalogue, console: Console) -> None:
    """Write every symbol's surprise to stdout or `out`, or a page of it there."""
    read = keys.checkpoint, *keys.data.path
    out = outputs.result_file(keys.out, read, overwrite=keys.overwrite)
    saved = load_checkpoint(keys.checkpoint, catalogue, console)
    codec, as_page = saved.codec, out is not None and out.suffix.lower() == _PAGE
    if as_page and codec.kind == "audio":
        raise ConfigError(f"out={out}: score writes lines of JSON, and of text a page ({_PAGE})")
    chosen = device.find_device(keys.device, for_all=True)
    session = Session(catalogue, console.notice, console.progress)
    part, corpus = checkpoint_data.asked_for(keys.data, keys.part, saved, session)
    surprise = None
    if codec.kind == "audio":
        shown = [*map(str, range(codec.size))]
    else:
        contents = contents_of(codec)
        shown = [*map(_as_json, contents)]
        surprise = Surprise(part, contents, _documents(corpus, own=not keys.data.path))
    with (
        device.memory_errors("Try device=cpu."),
        outputs.result_stream(out, overwrite=keys.overwrite) as write,
    ):
        # Lines that run through a terminal leave no room for a bar.
        progress = unseen if not as_page and Product().terminal else console.progress
        with progress("score", len(part), unit="symbols") as bar:
            scored = scoring.Scored(saved.build(chosen), part, codec.start, bar.update)
            for stretch in stretches(scored, ALTERNATIVES if as_page else 0):
                scoring.require_numbers(stretch.nats)
                if surprise:
                    surprise.add(stretch)
                for lines in () if as_page else _lines(part, stretch, shown):
                    write(lines)
        if surprise and as_page:
            write(surprise.page(corpus.name, saved.name or str(saved.file)))
    for place in surprise.places(_TOLD) if surprise else ():
        console.notice(f"most surprising: {place}")
    if out:
        console.notice(f"written: {out}")


def _documents(corpus: Corpus, *, own: bool) -> list[str]:
    """The file of each document, in the corpus's order; none where a file may have several.

    `own`: it is the checkpoint's own data, of which the part may have some only.
    """
    if (corpus.picks_documents and own) or any(count != 1 for _, count in corpus.files):
        return []
    return [name for name, _ in corpus.files]


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
            f'"nats": {nats:.4f}}}\n'
            for document, offset, symbol, nats in rows
        ]
        yield "".join(lines).encode()


def _as_json(content: str | bytes) -> str:
    """A character, or the number of a byte."""
    if isinstance(content, bytes):
        return json.dumps(content[0] if len(content) == 1 else [*content])
    return json.dumps(content)
