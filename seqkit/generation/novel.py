"""Samples that recite their training data: that is told, or they are drawn again from there on."""

from collections.abc import Callable

import numpy as np

from seqkit.data.codecs import Quantiser
from seqkit.evaluation.recited import Index, Recital
from seqkit.foundation.errors import ConfigError
from seqkit.generation.ending import ENDED, streams_of
from seqkit.generation.engine import Blocks
from seqkit.generation.request import Request
from seqkit.generation.trained import Trained
from seqkit.symbols import Integers, Symbols

_DRAWS, _BACK = 200, 50  # of each stream, on average; symbols before what it recites, at most
_TOLD = 1 << 22  # symbols of all streams that are told of, the first ones


def told(
    blocks: Blocks, index: Index | None, prompt: Symbols, tell: Callable[[Recital], object]
) -> Blocks:
    """Hand on every block (N, S) at once; `tell` hears after the last how much of them recites."""
    made, left = list[Integers](), _TOLD
    for block in blocks:
        yield block
        made += [block] * (left > 0)
        left -= block.size
    if index is not None:
        streams = streams_of(made, index.codec)
        if said := index.recital([index.places(stream, prompt) for stream in streams]):
            tell(said)


def redrawn(
    blocks: Blocks,
    trained: Trained,
    prompt: Symbols,
    request: Request,
    draw: Callable[[Trained, Symbols, Request], Blocks],
) -> Blocks:
    """The streams of blocks (N, S) in one block, drawn until nothing of them recites.

    From where a stream recites on it is drawn again, of sound all of it: `draw` is as
    `continue_prompt`. Raises ConfigError if there is no index, or that is in vain.
    """
    index, codec, draws = trained.index, trained.codec, 0
    if index is None:
        raise ConfigError(
            "sample.novel=true: this checkpoint is in no run that keeps recited.safetensors, to "
            "know its training data by: give checkpoint=RUN_FOLDER"
        )
    streams = streams_of(blocks, codec)
    for number, _ in enumerate(streams):
        while (recited := np.flatnonzero(index.places(streams[number], prompt) >= 0)).size:
            draws += 1
            if draws > _DRAWS * len(streams):
                raise ConfigError(
                    f"sample.novel=true: {draws - 1} draws did not do: stream {number + 1} recites "
                    "the training data: give a higher temperature, or train on more data"
                )
            begin = 0 if isinstance(codec, Quantiser) else max(recited[0] - draws % _BACK, 0)
            kept, again = streams[number][:begin], request.again(draws, request.length - begin)
            rest = streams_of(draw(trained, np.concatenate([prompt, kept]), again), codec)
            streams[number] = np.concatenate([kept, *rest[number : number + 1]])
    most = max(map(len, streams), default=0)
    rows = [np.append(each.astype(int), np.full(most - len(each), ENDED)) for each in streams]
    return iter([np.stack(rows, 1)] if most else [])
