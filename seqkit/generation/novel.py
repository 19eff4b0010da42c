"""Samples that recite their training data: that is told, or they are drawn again from there on."""

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from seqkit.evaluation.recited import Index, Recital
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.wording import counted
from seqkit.generation.request import Request, Trained
from seqkit.generation.sampler import ENDED, Blocks, streams_of
from seqkit.symbols import Integers, Symbols

_DRAWS, _BACK = 200, 50  # of each stream; symbols before what it recites, at most
_TOLD = 1 << 22  # symbols of all streams that are told of, the first ones


def told(
    blocks: Blocks, index: Index, prompt: Symbols, tell: Callable[[Recital], object]
) -> Blocks:
    """Hand on every block (N, S) at once; `tell` hears after the last how much of them recites."""
    made, left = list[Integers](), _TOLD
    for block in blocks:
        yield block
        made += [block] * (left > 0)
        left -= block.size
    streams = streams_of(made, index.codec)
    if said := index.recital([index.knows(stream, prompt) for stream in streams]):
        tell(said)


def redrawn(
    blocks: Blocks,
    trained: Trained,
    prompt: Symbols,
    request: Request,
    draw: Callable[[Symbols, Request], Blocks],
    *,
    notice: Callable[[str], None],
) -> Blocks:
    """The streams of blocks (N, S) in one block, drawn until nothing of them recites.

    From where a stream recites on it is drawn again: `draw` gives what follows a prompt. `notice`
    is told now and then how many still recite.

    Raises ConfigError of sound, if there is no index, or if that is in vain.
    """
    index, codec = trained.index, trained.codec
    if codec.kind == "audio":
        raise ConfigError("sample.novel=true: this model makes sound, and it is for text")
    if index is None:
        raise ConfigError(
            "sample.novel=true: this checkpoint is in no run that keeps recited.safetensors, to "
            "know its training data by: give checkpoint=RUN_FOLDER"
        )
    streams = streams_of(blocks, codec)
    reciting = [*range(len(streams))]
    for draws in range(1, _DRAWS + 2):
        groups = defaultdict[bytes, list[tuple[int, int]]](list)  # those that keep the same
        for number in reciting:
            recited = np.flatnonzero(index.knows(streams[number], prompt))
            if recited.size:
                begin = max(recited[0] - draws % _BACK, 0)
                groups[streams[number][:begin].tobytes()].append((number, begin))
        reciting = sorted(number for group in groups.values() for number, _ in group)
        if not reciting:
            break
        still = f"{len(reciting)} of {counted(len(streams), 'stream')} reciting the training data"
        if draws > _DRAWS:
            raise ConfigError(
                f"sample.novel=true: {_DRAWS} draws did not do, {still}: "
                "give a higher temperature, or train on more data"
            )
        if not draws & (draws - 1):
            notice(f"draw {draws} of at most {_DRAWS}: {still}")
        for group in groups.values():
            first, begin = group[0]
            kept, again = streams[first][:begin], request.again(draws, request.length - begin)
            rest = streams_of(draw(np.concatenate([prompt, kept]), again), codec)
            for number, _ in group:
                streams[number] = np.concatenate([kept, *rest[number : number + 1]])
    most = max(map(len, streams), default=0)
    rows = [np.append(each.astype(int), np.full(most - len(each), ENDED)) for each in streams]
    return iter([np.stack(rows, 1)] if most else [])
