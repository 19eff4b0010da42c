"""`score`: how surprising a model finds every symbol, as lines of JSON, a page or a picture."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from seqkit.advice import charts
from seqkit.advice.surprise import ALTERNATIVES, SurpriseOfSound, SurpriseOfText, contents_of
from seqkit.api import checkpoint_data
from seqkit.commands import outputs
from seqkit.config import Config
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.evaluation import scoring
from seqkit.evaluation.streaming import Stretch, stretches
from seqkit.foundation import device, machine
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, unseen
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.stdout import Product
from seqkit.runs.named_checkpoint import load_checkpoint

_TOLD = 5  # places on stderr
_LINES = 1 << 14  # that are written at once
_PAGES: tuple[str, ...] = (".html",)


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Write every symbol's surprise to stdout or `out`, or show it there."""
    out = outputs.result_file(config)
    saved = load_checkpoint(config.checkpoint, catalogue, console)
    ending = _shown(out, saved.codec)
    chosen = device.choose_device(config.device)
    part, corpus = checkpoint_data.asked_for(config, saved, catalogue, console)
    with (
        machine.memory_errors("Try device=cpu."),
        outputs.result_stream(out, overwrite=config.overwrite) as write,
    ):
        # Lines that run through a terminal leave no room for a bar.
        progress = unseen if not ending and Product().terminal else console.progress
        with progress("score", len(part), unit="symbols") as bar:
            model, codec = saved.build(chosen), saved.codec
            scored = scoring.Scored(model, part, codec.start, bar.update)
            lines = None if ending else write
            surprise = _surprise(scored, codec, _documents(config, corpus), lines)
        heading = corpus.name, saved.name or str(saved.file)
        if isinstance(surprise, SurpriseOfText) and ending:
            write(surprise.page(*heading))
        elif isinstance(surprise, SurpriseOfSound) and ending:
            write(surprise.picture(*heading, ending))
    for place in surprise.places(_TOLD):
        console.notice(f"most surprising: {place}")
    if out:
        console.notice(f"written: {out}")


def _shown(out: Path | None, codec: Codec) -> str:
    """The ending of `out` that asks for a page or a picture; empty for lines of JSON.

    Raises:
        ConfigError: it asks for a page of sound, or a picture of text.
    """
    ending = out.suffix.lower() if out else ""
    is_sound = codec.kind == "audio"
    own, others = (charts.FORMATS, _PAGES) if is_sound else (_PAGES, charts.FORMATS)
    if ending in others:
        raise ConfigError(f"out={out}: what shows this data ends in {', '.join(own)}")
    return ending if ending in own else ""


def _documents(config: Config, corpus: Corpus) -> list[str]:
    """The file of each document, in the corpus's order; none where a file may have several."""
    picks = corpus.picks_documents and not config.data.path
    if picks or any(count != 1 for _, count in corpus.files):
        return []
    return [name for name, _ in corpus.files]


def _surprise(
    scored: scoring.Scored,
    codec: Codec,
    documents: Sequence[str],
    write: Callable[[bytes], object] | None,
) -> SurpriseOfText | SurpriseOfSound:
    """Score all symbols; without a page or picture to show it, `write` takes their lines."""
    surprise: SurpriseOfText | SurpriseOfSound
    if isinstance(codec, Quantiser):
        surprise, likeliest = SurpriseOfSound(scored.part, codec, documents), 0
        shown = [str(level) for level in range(codec.size)]
    else:
        contents, likeliest = contents_of(codec), 0 if write else ALTERNATIVES
        surprise = SurpriseOfText(scored.part, contents, documents)
        shown = [_as_json(content) for content in contents]
    for stretch in stretches(scored, likeliest):
        scoring.require_numbers(stretch.nats)
        surprise.add(stretch)
        if write:
            for lines in _lines(scored.part, stretch, shown):
                write(lines)
    return surprise


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
