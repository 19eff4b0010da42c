"""The records of an execution mean the same for ever."""

import dataclasses

import torch

from seqkit.model.execution import Execution


def test_a_record_reads_back_as_what_it_was() -> None:
    execution = Execution("stacked", "bf16", 40)
    record = dataclasses.asdict(execution)
    assert record == {"kernel": "stacked", "precision": "bf16", "lanes": 40}
    assert Execution.from_record(record) == execution
    assert execution.dtype == torch.bfloat16
    assert str(execution) == "bf16, one call for all layers, 40 lanes"
