"""The records of an execution mean the same for ever."""

import dataclasses
from typing import Any

import pytest
import torch

from seqkit.model.execution import Execution


def test_a_record_reads_back_as_what_it_was() -> None:
    execution = Execution("stacked", "bf16", 40)
    record = dataclasses.asdict(execution)
    assert record == {"kernel": "stacked", "precision": "bf16", "lanes": 40}
    assert Execution.from_record(record) == execution
    assert execution.dtype == torch.bfloat16
    assert str(execution) == "bf16, one call for all layers, 40 lanes"


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"kernel": "layerwise", "precision": "fp32", "lanes": None},
        {"kernel": "a later one", "precision": "fp32", "lanes": 8},
        {"kernel": "layerwise", "precision": "fp8", "lanes": 8},
    ],
)
def test_what_is_no_execution_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no kernel|not an execution|invalid literal"):
        Execution.from_record(record)
