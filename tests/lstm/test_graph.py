"""A recording launches again what its function launched, on the tensors that it used."""

import pytest
import torch

from seqkit.lstm.graph import GraphedCall


@pytest.mark.gpu
def test_a_replay_does_again_what_was_recorded() -> None:
    total = torch.zeros((), device="cuda")
    calls: list[int] = []

    def run() -> None:
        calls.append(1)
        total.add_(1)

    recording = GraphedCall(run, total.device, warm=2)
    assert (len(calls), float(total)) == (3, 2.0)  # the recorded call does not run
    recording()
    recording()
    assert (len(calls), float(total)) == (3, 4.0)
