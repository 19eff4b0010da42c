"""The sample at the end of a training, checked before it begins."""

import dataclasses
from dataclasses import dataclass

import torch

from seqkit.config import DataConfig, ModelConfig, SampleKeys
from seqkit.data.corpus import Corpus
from seqkit.foundation.session import Session
from seqkit.generation.engines import check_engine
from seqkit.generation.medium import Medium
from seqkit.generation.sampler import Request
from seqkit.runs.asked import asked_of
from seqkit.symbols import Symbols

_DOCUMENTS = 10  # in the closing sample, where files hold many


@dataclass(frozen=True)
class ClosingSample:
    """A sample that is asked for, after the symbols of its prompt."""

    medium: Medium
    prompt: Symbols
    request: Request

    @property
    def length(self) -> int:
        """Symbols of each stream."""
        return self.request.length


def plan_closing(
    keys: SampleKeys,
    corpus: Corpus,
    data: DataConfig,
    model: ModelConfig,
    chosen: torch.device,
    session: Session,
) -> ClosingSample:
    """Read the prompt, and check that there is an engine: now, not after the training.

    Args:
        keys: those of the sample.
        corpus: what is learnt.
        data: the keys that it is read by.
        model: the network.
        chosen: where it is.
        session: that of the training.

    Raises:
        SeqkitError: the prompt cannot be read, or no sample can be made so.
    """
    codec = corpus.codec
    session.catalogue.find("codecs", codec.name)  # or no checkpoint of this run could be read
    streams = _DOCUMENTS if data.cuts_files else 1
    keys = dataclasses.replace(keys, until=None, streams=streams)  # which no training reads
    medium, source, request = asked_of(keys, codec, model, data.newline)
    prompt = medium.read_prompt(source, session.notice)
    check_engine(model, codec.size, request, chosen)
    return ClosingSample(medium, prompt, request)
