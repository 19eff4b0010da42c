"""The sample at the end of a training, checked before it begins."""

import dataclasses
from dataclasses import dataclass

import torch

from seqkit.config import ModelConfig
from seqkit.evaluation.recording import VERDICT
from seqkit.foundation.session import Session
from seqkit.generation.engines.choose import check_engine
from seqkit.generation.medium import Medium, medium_of
from seqkit.generation.request import request_of
from seqkit.stages.data import TrainingData
from seqkit.symbols import Symbols

TEMPERATURES = 0.7, 0.8, 0.9, 1.0
_TRIED = 20.0  # seconds at each
_DOCUMENTS = 10  # in the closing sample, where files hold many


@dataclass(frozen=True)
class ClosingSample:
    """What follows which prompt, `streams` times; `length` counts the symbols of each.

    tried: the symbols of a sound that is made at each of `TEMPERATURES` before; 0 where the
        temperature is given, or nothing could be said of so short a sound.
    """

    medium: Medium
    prompt: Symbols
    length: int
    streams: int = 1
    tried: int = 0

    @property
    def symbols(self) -> int:
        """Of a stream, with all that is tried."""
        return self.length + self.tried * len(TEMPERATURES)


def plan_closing(
    data: TrainingData, model: ModelConfig, chosen: torch.device, session: Session
) -> ClosingSample:
    """Read the prompt, and check that there is an engine: now, not after the training.

    Raises:
        SeqkitError: the prompt cannot be read, or no sample can be made so.
    """
    config, codec = data.config, data.corpus.codec
    session.catalogue.find("codecs", codec.name)  # or no checkpoint of this run could be read
    medium = medium_of(codec, config.data.newline)
    prompt = medium.read_prompt(config, session.notice)
    length = medium.length(config.length, config.seconds)
    streams = _DOCUMENTS if config.data.cuts_files else 1
    request = request_of(dataclasses.replace(config, streams=streams), length)
    check_engine(model, codec.size, request, chosen)
    tried = 0
    if codec.kind == "audio" and config.temperature is None and data.corpus.labels is None:
        tried = min(length, medium.length(None, _TRIED))
        tried *= tried >= VERDICT * codec.symbol_rate
    return ClosingSample(medium, prompt, length, streams, tried)
