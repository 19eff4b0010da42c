"""`score`: how surprising a model finds every symbol, as lines of JSON."""

import json
from collections.abc import Iterator, Sequence

import numpy as np

from seqkit.api import checkpoint_data
from seqkit.commands import outputs
from seqkit.config import Keys
from seqkit.data import codecs
from seqkit.data.corpus import Part
from seqkit.evaluation import scoring
from seqkit.evaluation.streaming import stretches
from seqkit.foundation import device
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, unseen
from seqkit.foundation.ranks import Session
from seqkit.foundation.stdout import Product
from seqkit.runs.named_checkpoint import load_checkpoint
from seqkit.symbols import Floats

_LINES = 1 << 14  # that are written at once


def run(keys: Keys, catalogue: Catalogue, console: Console) -> None:
    """Write every symbol's surprise to stdout or `out`."""
    read = keys.checkpoint, *keys.data.path
    out = outputs.result_file(keys.out, read, overwrite=keys.overwrite)
    saved = load_checkpoint(keys.checkpoint, catalogue, console)
    codec, chosen = saved.codec, device.find_device(keys.device, for_all=True)
    session = Session(catalogue, console.notice, console.progress)
    part, _ = checkpoint_data.asked_for(keys.data, keys.part, saved, session)
    shown = [*map(str, range(codec.size))]
    if codec.kind != "audio":
        with codecs.failures(type(codec), "decode"):
            shown = [_as_json(codec.decode([symbol])) for symbol in range(codec.size)]
    with (
        device.memory_errors("Try device=cpu."),
        outputs.result_stream(out, overwrite=keys.overwrite) as write,
    ):
        # Lines that run through a terminal leave no room for a bar.
        progress = unseen if out is None and Product().terminal else console.progress
        with progress("score", len(part), unit="symbols") as bar:
            scored = scoring.Scored(saved.build(chosen), part, codec.start, bar.update)
            for begin, nats in stretches(scored):
                scoring.require_numbers(nats)
                for lines in _lines(part, begin, nats, shown):
                    write(lines)
    if out:
        console.notice(f"written: {out}")


def _lines(part: Part, first: int, nats: Floats, shown: Sequence[str]) -> Iterator[bytes]:
    """An object for each symbol from the place `first` on, whose nats are (n,).

    `shown` is JSON that says what each symbol stands for.
    """
    for begin in range(0, len(nats), _LINES):
        block = nats[begin : begin + _LINES].tolist()
        places = np.arange(first + begin, first + begin + len(block))
        numbers = np.searchsorted(part.starts, places, side="right")
        offsets = places - part.starts[numbers - 1]
        columns = (numbers.tolist(), offsets.tolist(), part.symbols[places].tolist(), block)
        lines = [
            f'{{"document": {document}, "offset": {offset}, "symbol": {shown[symbol]}, '
            f'"nats": {own:.4f}}}\n'
            for document, offset, symbol, own in zip(*columns, strict=True)
        ]
        yield "".join(lines).encode()


def _as_json(content: str | bytes) -> str:
    """A character, or the number of a byte."""
    if isinstance(content, bytes):
        return json.dumps(content[0] if len(content) == 1 else [*content])
    return json.dumps(content)
