"""The writer of codes depends on the seed, and not on what else the machine does."""

import dataclasses

import numpy as np
import pytest
import torch

from seqkit.data.codecs.quantisers import MuLaw
from seqkit.data.corpus import Part
from seqkit.data.sound import slow_codes
from seqkit.foundation.console import unseen
from seqkit.stages import learn_slow_tier
from seqkit.stages.learn_slow_tier import learn_writer
from seqkit.training.step import TrainingStep


def test_the_writer_is_learnt_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads, run = list[int](), TrainingStep.run

    def watched(step: TrainingStep, number: int, rate: float) -> int:
        threads.append(torch.get_num_threads())
        return run(step, number, rate)

    monkeypatch.setattr(TrainingStep, "run", watched)
    monkeypatch.setattr(learn_slow_tier, "_STEPS", 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # what the user says is taken elsewhere
    wave = np.random.default_rng(4).normal(0, 0.1, 16000).astype(np.float32)
    book = slow_codes.learn(wave, 4000, 0)
    codec = MuLaw(256, 4000)
    codes = np.repeat(book.codes(book.describe(wave)), book.hop)[: len(wave)]
    part = dataclasses.replace(Part.of(codec.encode(wave)), codes=codes)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        learn_writer(part, codec, book, 0, [], unseen)
    finally:
        torch.set_num_threads(before)
    assert threads == [1, 1]
