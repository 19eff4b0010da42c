"""Teachers write the text of a training, and say how likely each of its symbols was.

A network that learns from the probabilities of others, at each place of far more text than there
is, comes close to all of them together: knowledge distillation (Hinton, Vinyals and Dean, 2015).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
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
from seqkit.stages.alike import Predicted, read_alike
from seqkit.stages.read_corpus import Reading
from seqkit.symbols import Symbols, symbol_dtype

_SHORTEST = 1024  # symbols of a document
_MOST = 4096  # documents written side by side


@dataclass(frozen=True)
class Teachers:
    """Networks on one device, and how much they are to write.

    codec: theirs.
    documents, length: how many, and the symbols of each.
    """

    networks: Sequence[CharRNN]
    codec: Codec
    documents: int
    length: int

    @classmethod
    def of(cls, networks: Sequence[CharRNN], codec: Codec, symbols: int) -> "Teachers":
        """Those who are to write so many symbols, or a few more."""
        documents = min(symbols // _SHORTEST, _MOST)
        return cls(networks, codec, documents, -(-symbols // documents))

    @property
    def blank(self) -> Part:
        """The part that they write, before they have."""
        starts = np.arange(self.documents) * self.length
        symbols = np.zeros(self.documents * self.length, symbol_dtype(self.codec.size))
        return Part(symbols, starts)

    @property
    def bytes(self) -> int:
        """What their symbols and probabilities take on the training's device."""
        each = symbol_dtype(self.codec.size).itemsize + 2 * self.codec.size
        return self.documents * self.length * each

    @torch.no_grad()
    def write(self, seed: int, progress: Progress) -> tuple[Symbols, Tensor]:
        """Write symbols (N,), each drawn from the mean of the probabilities, and tell these.

        They are (N, V), in fp16, on the device. Documents begin from the zero state, and are
        written side by side. On the same device and from the same seed they are the same.
        """
        device, size, lanes = self.networks[0].device, self.codec.size, self.documents
        dtype = torch.float16 if device.type == "cuda" else torch.float32
        networks = [network.runnable_weights(dtype=dtype) for network in self.networks]
        states = [network.zero_state(lanes) for network in self.networks]
        generator = torch.Generator(device).manual_seed(seed)
        told = torch.empty(lanes, self.length, size, dtype=torch.float16, device=device)
        written = torch.empty(lanes, self.length, dtype=torch.int32, device=device)
        fed = torch.full((1, lanes), self.codec.start, device=device)
        shown = progress("the teachers write", lanes * self.length, unit="symbols")
        with shared_cores(device), shown as bar:
            for place in range(self.length):
                mean = torch.zeros(lanes, size, device=device)
                for number, network in enumerate(networks):
                    logits, states[number] = network(fed, states[number])
                    mean += torch.softmax(logits[0, :, :size].float(), -1) / len(networks)
                fed = torch.multinomial(mean, 1, generator=generator).T
                told[:, place], written[:, place] = mean, fed[0]
                bar.update(lanes * (place + 1))
        symbols = written.flatten().cpu().numpy().astype(symbol_dtype(size))
        return symbols, told.flatten(0, 1)


def find_teachers(
    reading: Reading, model: ModelConfig, chosen: torch.device, session: Session
) -> Teachers | None:
    """Those whom `train.teachers` names, on a device; None if it names none.

    Raises:
        ConfigError: they are not for this data or network.
        CheckpointError: one of them is not there, or cannot be read.
        DeviceError: there is not enough memory for what they are to write.
    """
    train, codec = reading.config.train, reading.corpus.codec
    if not train.teachers:
        return None
    if not session.ranks.alone:
        raise ConfigError("train.teachers: one process learns from teachers: start one, not more")
    if model.ends or model.labels or codec.kind == "audio":
        raise ConfigError(
            "train.teachers is for text without labels (data.label) and without ends of documents "
            "(data.document, model.ends)"
        )
    split, sha256 = reading.config.data.split, reading.corpus.sha256
    predicted = Predicted(codec, labels=None, ends=False, sha256=sha256, split=split)
    saved = read_alike("train.teachers", train.teachers, predicted, session)
    session.notice(
        f"the network learns {train.teacher_symbols:,} symbols that "
        f"{counted(len(saved), 'teacher writes', 'teachers write')}, in place of the training part"
    )
    teachers = Teachers.of([], codec, train.teacher_symbols)
    needed = teachers.bytes + 4 * sum(count_parameters(each.model) for each in saved)
    advice, free = "Give a smaller train.teacher_symbols.", machine.free_bytes(chosen)
    machine.require(needed, free, "what the teachers write", advice, chosen)
    return replace(teachers, networks=[each.build(chosen) for each in saved])
