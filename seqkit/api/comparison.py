"""How much what a model makes sounds like its recording: `seqkit.evaluation.likeness`, applied."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus
from seqkit.evaluation.likeness import Distances, Recording, pitched
from seqkit.foundation.errors import DataError
from seqkit.generation.continuation import continue_prompt
from seqkit.generation.request import Request
from seqkit.runs.checkpoint import Checkpoint
from seqkit.symbols import Integers

_MOST = 600  # seconds of a corpus that are compared with
_STRETCHES = 20  # that these are taken from, where it is longer


def of_model(
    saved: Checkpoint,
    request: Request,
    recording: Recording,
    chosen: torch.device,
    notice: Callable[[str], None],
    watch: Callable[[int], None],
) -> dict[str, Any]:
    """How much sounds that a model makes are like a recording: `evaluate protocol=spectral`.

    Args:
        saved: the model, of sound.
        request: for as many sounds as are to be measured.
        recording: see `recording_of`.
        chosen: where the model runs.
        notice: told what the engine is.
        watch: told how many samples of each sound there are.

    Raises:
        DataError: the sounds are too short.
    """
    codec = saved.codec
    assert isinstance(codec, Quantiser)
    prompt, rate = np.zeros(0, np.uint8), codec.sample_rate
    blocks, done = [], 0
    model = saved.build(chosen)
    made = continue_prompt(model, codec, prompt, request, notice=notice, slow=saved.slow)
    for block in made:
        blocks.append(block)
        done += len(block)
        watch(done)
    waves = [codec.decode(symbols) for symbols in np.concatenate(blocks).T]
    try:
        found = [recording.measure(wave, rate) for wave in waves]
    except ValueError as error:
        raise DataError(f"seconds is too small to compare: {error}") from error
    mean = Distances(*np.mean(found, axis=0).tolist())
    halves = recording.halves._asdict()
    return {
        **mean._asdict(),
        **{f"{name}_halves": value for name, value in halves.items()},
        "sounds": [one._asdict() for one in found],
        "heard": sentence(recording, mean, pitched(np.concatenate(waves), rate)),
    }


def sentence(recording: Recording, found: Distances, pitched: float) -> str:
    """Whether sounds are like a recording, in words, given their distances and share of pitch."""
    apart = recording.differences(found)
    if not apart:
        return "it sounds like the recording"
    words = {
        "spectrum": "its timbre is another",
        "tone": "its tones are " + ("less clear" if pitched < recording.pitched else "clearer"),
        "pitch": "it plays other notes",
        "loudness": "it is loud and quiet in other measure",
    }
    if pitched < recording.pitched / 3:
        words |= {"tone": "the recording is pitched, it is not", "pitch": ""}
    told = [words[name] for name in apart if words[name]]
    return "it does not sound like the recording: " + ", ".join(told)


def recording_of(corpus: Corpus) -> Recording:
    """The sound of a corpus, to compare with; of a long one some stretches, spread over it.

    Raises:
        DataError: it is too short, or silent.
    """
    codec, symbols = corpus.codec, corpus.whole.symbols
    assert isinstance(codec, Quantiser)
    most = _MOST * codec.symbol_rate
    if len(symbols) > most:
        length = most // _STRETCHES
        begins = np.linspace(0, len(symbols) - length, _STRETCHES).astype(int)
        begins -= begins % codec.phases
        symbols = np.concatenate([symbols[begin : begin + length] for begin in begins])
    try:
        return Recording(codec.decode(symbols), codec.sample_rate)
    except ValueError as error:
        raise DataError(f"{corpus.name}: nothing to compare a sound with: {error}") from error


def judge_of(corpus: Corpus, prompt: int) -> Callable[[Integers], str]:
    """What is said of samples, symbols (N,): of sound, how much like the corpus they are.

    The first `prompt` symbols of a sample are left out.
    """
    codec = corpus.codec
    if not isinstance(codec, Quantiser):
        return lambda symbols: ""
    recording = functools.cache(lambda: recording_of(corpus))  # made when it is first needed

    def judge(symbols: Integers) -> str:
        made = codec.decode(symbols[prompt:])
        try:
            found = recording().measure(made, codec.sample_rate)
        except (DataError, ValueError):
            return ""  # one of the two is silent, or too short to compare
        values = ", ".join(f"{name} {value:.2f}" for name, value in found._asdict().items())
        told = sentence(recording(), found, pitched(made, codec.sample_rate))
        return f"{told} ({values}; the same: 0, noise: 1)"

    return judge
