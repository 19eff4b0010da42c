"""How much what a model makes sounds like its recording: `seqkit.evaluation.likeness`, applied."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from seqkit.data.codecs import Codec, Quantiser
from seqkit.evaluation.likeness import Distances
from seqkit.evaluation.recording import Recording
from seqkit.foundation.errors import DataError
from seqkit.foundation.threads import shared_cores
from seqkit.foundation.wording import counted
from seqkit.generation.continuation import continue_prompt
from seqkit.generation.request import Request
from seqkit.runs.checkpoint import Checkpoint
from seqkit.symbols import Integers


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
        recording: see `stages.conditions.recording_of`.
        chosen: where the model runs.
        notice: told what the engine is.
        watch: told how many samples of each sound there are.

    Raises:
        DataError: the sounds are too short.
    """
    codec = saved.codec
    assert isinstance(codec, Quantiser)
    trained = dataclasses.replace(saved.trained(saved.build(chosen)), recording=None)
    blocks, done, rate = [], 0, codec.sample_rate
    for block in continue_prompt(trained, np.zeros(0, np.uint8), request, notice=notice):
        blocks.append(block)
        done += len(block)
        watch(done)
    waves = [codec.decode(symbols) for symbols in np.concatenate(blocks).T]
    try:
        with shared_cores():
            distances = [recording.measure(wave, rate) for wave in waves]
            judgements = [recording.judged(wave, rate) for wave in waves]
    except ValueError as error:
        raise DataError(f"seconds is too small to compare: {error}") from error
    like = sum(judgement.is_like for judgement in judgements)
    halves = recording.halves._asdict()
    return {
        **Distances(*np.mean(distances, axis=0).tolist())._asdict(),
        **{f"{name}_halves": value for name, value in halves.items()},
        "sounds": [
            {**distance._asdict(), "heard": judgement.words}
            for distance, judgement in zip(distances, judgements, strict=True)
        ],
        "heard": f"{like} of {counted(len(waves), 'sound')} "
        + ("is" if like == 1 else "are")
        + " like the recording",
    }


def judge_of(recording: Recording | None, codec: Codec, prompt: int) -> Callable[[Integers], str]:
    """What is said of samples, symbols (N,): of sound, whether they are like a recording.

    The first `prompt` symbols of a sample are left out.
    """
    if recording is None:
        return lambda symbols: ""

    def judge(symbols: Integers) -> str:
        assert isinstance(codec, Quantiser)
        return f"it {recording.judged(codec.decode(symbols[prompt:]), codec.sample_rate).words}"

    return judge
