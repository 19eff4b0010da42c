"""Teachers write the text of a training, and say how likely each of its symbols was.

A network that learns from the probabilities of others, at each place of more text than there is,
comes close to all of them together: knowledge distillation (Hinton, Vinyals and Dean, 2015).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seqkit.config import ModelConfig
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Part
from seqkit.foundation import machine
from seqkit.foundation.console import Progress
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Session
from seqkit.foundation.threads import shared_cores
from seqkit.foundation.wording import counted
from seqkit.model.arrays import count_parameters
from seqkit.model.char_rnn import CharRNN
from seqkit.runs import named_checkpoint
from seqkit.stages.read_corpus import Reading
from seqkit.symbols import symbol_dtype

_SHORTEST = 1024  # symbols of a document, if there are so many
_MOST = 4096  # documents written side by side
_BYTES = 2  # of a probability


@dataclass(frozen=True)
class Lesson:
    """What teachers wrote.

    part: N symbols, in documents of equal length.
    probabilities: (N, V) in fp16, on the training's device: the mean of the teachers'.
    """

    part: Part
    probabilities: Tensor


def find_teachers(
    reading: Reading, model: ModelConfig, chosen: torch.device, session: Session
) -> list[CharRNN]:
    """The networks that `train.teachers` names, on a device; none if it names none.

    Raises:
        ConfigError: they are not for this data or network.
        CheckpointError: one of them is not there, or cannot be read.
        DeviceError: there is not enough memory for what they are to write.
    """
    train, codec = reading.config.train, reading.corpus.codec
    if not train.teachers:
        return []
    if not session.ranks.alone:
        raise ConfigError("train.teachers: one process learns from teachers: start one, not more")
    if model.ends or model.frame > 1 or model.labels or codec.kind == "audio":
        raise ConfigError(
            "train.teachers is for text, without labels (data.label) and without ends of documents "
            "(model.ends): leave these keys out"
        )
    saved = named_checkpoint.read_alike(
        "train.teachers", train.teachers, codec, session.catalogue, session.notice, session.progress
    )
    session.notice(
        f"the network learns {train.teacher_symbols:,} symbols that "
        f"{counted(len(saved), 'teacher writes', 'teachers write')}, in place of the training part"
    )
    written = train.teacher_symbols * (model.vocabulary_size * _BYTES + 1)
    weights = 4 * sum(count_parameters(each.model) for each in saved)
    machine.require(
        written + weights,
        machine.free_bytes(chosen),
        "what the teachers write",
        "Give a smaller train.teacher_symbols.",
        chosen,
    )
    return [each.build(chosen) for each in saved]


@torch.no_grad()
def write(
    teachers: Sequence[CharRNN], codec: Codec, wanted: int, seed: int, progress: Progress
) -> Lesson:
    """Let teachers write so many symbols: each is drawn from the mean of their probabilities.

    Documents begin from the zero state, and are written side by side. On the same device and from
    the same seed they are the same.
    """
    device, size = teachers[0].device, codec.size
    documents = min(max(wanted // _SHORTEST, 1), _MOST)
    length = -(-wanted // documents)
    dtype = torch.float16 if device.type == "cuda" else torch.float32
    networks = [teacher.runnable_weights(dtype=dtype) for teacher in teachers]
    states = [teacher.zero_state(documents) for teacher in teachers]
    generator = torch.Generator(device).manual_seed(seed)
    probabilities = torch.empty(documents, length, size, dtype=torch.float16, device=device)
    written = torch.empty(documents, length, dtype=torch.int32, device=device)
    fed = torch.full((1, documents), codec.start, device=device)
    shown = progress("the teachers write", documents * length, unit="symbols")
    with shared_cores(device), shown as bar:
        for place in range(length):
            mean = torch.zeros(documents, size, device=device)
            for number, network in enumerate(networks):
                logits, states[number] = network(fed, states[number])
                mean += torch.softmax(logits[0, :, :size].float(), -1) / len(networks)
            drawn = torch.multinomial(mean, 1, generator=generator)[:, 0]
            probabilities[:, place], written[:, place] = mean, drawn
            fed = drawn[None]
            bar.update(documents * (place + 1))
    symbols = written.cpu().numpy().astype(symbol_dtype(size))
    return Lesson(Part.of(*symbols), probabilities.flatten(0, 1))
