"""The slow tier of a training of sound: its codes are found, and a small network learns them."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from seqkit.config import ModelConfig, OptimizerConfig, TrainConfig
from seqkit.data.codecs import SoundCodec
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.data.reading_errors import Errors
from seqkit.data.sound.slow_codes import Codebook
from seqkit.foundation.console import Progress
from seqkit.foundation.threads import shared_cores
from seqkit.generation.slow_tier import SlowTier
from seqkit.model.arrays import NetworkArrays
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.training.step import Plan, TrainingStep

_STEPS, _WARM = 400, 50
_STEPS_WITH_LABELS = 2000
_SHORTEST = 1024  # codes
_WRONG, _TABLES = 0.15, 64  # share of the codes that are read as others, and in how many ways
_RATE = 4e-3


def learn_writer(
    part: Part,
    codec: SoundCodec,
    book: Codebook,
    seed: int,
    labels: Sequence[int],
    progress: Progress,
) -> SlowTier:
    """The codes of a part of sound that has some, and a network that learnt to write more.

    `labels` has the number of values of each label of its documents, if they have any.
    """
    assert part.codes is not None
    hop = codec.symbols_of(book.hop)
    codes = part.codes[::hop]
    times = -(-_SHORTEST // len(codes))  # repeated until they are enough to train on
    row = Part.of(np.tile(codes, times))
    if part.labels is not None:
        starts = np.round(part.starts / hop).astype(np.int64)
        kept = np.diff(starts, append=len(codes)) > 0
        begins = np.arange(times)[:, None] * len(codes) + starts[kept]
        of_documents = np.tile(part.labels[kept], (times, 1))
        row = dataclasses.replace(row, starts=begins.ravel(), labels=of_documents)
    writer = NetworkArrays.of(_writer(row, book.size, seed, progress, labels))
    return SlowTier(book, codes, writer)


def _writer(row: Part, size: int, seed: int, progress: Progress, labels: Sequence[int]) -> CharRNN:
    """A network that learnt the order of codes, read as if their end met their beginning."""
    draw = np.random.default_rng([seed, 1])
    codes = row.symbols[:]
    readings = np.tile(np.arange(size + bool(labels)), (_TABLES, 1))
    wrong = draw.random(readings.shape) < _WRONG
    readings[wrong] = draw.choice(codes, wrong.sum())
    errors = Errors(share=1.0, steps=1, readings=readings)
    config = ModelConfig(
        num_layers=1,
        hidden_size=192,
        input="embedding",
        embedding_size=64,
        dropout=0.3,
        labels=[*labels],
        ends=bool(labels),
        vocabulary_size=size + bool(labels),
    )
    model = CharRNN(config, torch.Generator().manual_seed(seed))
    lanes = Lanes(row, 0, 16, 64, seed, end=size if labels else None)
    execution = Execution("layerwise", "fp32", lanes.batch_size)
    plan = Plan(OptimizerConfig(), TrainConfig(clip_norm=1.0), seed, execution, errors)
    step = TrainingStep(model, lanes, plan)
    steps = _STEPS_WITH_LABELS if labels else _STEPS
    shown = progress("learning the order of the codes", steps)
    # More threads would be slower on a busy machine, and round otherwise.
    with shared_cores(exactly=1), shown as bar:
        for number in range(steps):
            left = 1 - number / steps
            step.run(number, _RATE * min((number + 1) / _WARM, left))
            bar.update(number + 1)
    return model
