"""Several processes find the score that one finds."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from seqkit.evaluation.score import Score, interval
from seqkit.foundation.ranks import ALONE
from tests.conftest import environment, torchrun
from tests.evaluation.together import recorded, scores


@pytest.mark.thorough
@pytest.mark.parametrize("count", [2, 3])
def test_several_processes_find_the_score_of_one(count: int, tmp_path: Path) -> None:
    line = torchrun(count, "tests.evaluation.together", str(tmp_path / "found"))
    subprocess.run(line, env=environment(), check=True, timeout=600)
    texts = [(tmp_path / f"found.{rank}").read_text() for rank in range(count)]
    assert len(set(texts)) == 1  # all of them know it
    found, alone = json.loads(texts[0]), scores(ALONE)
    assert found.keys() == alone.keys()
    for name, (nats, *rest) in found.items():
        one = alone[name]
        assert rest == recorded(alone)[name][1:], name
        assert nats == pytest.approx(one.block_nats, rel=1e-5), name
        several = Score(np.array(nats), one.block_symbols, one.block_documents)
        assert several.loss == pytest.approx(one.loss, rel=1e-6), name
        bounds, expected = interval(several), interval(one)
        assert (bounds and [bounds.low, bounds.high]) == (
            expected and pytest.approx([expected.low, expected.high], rel=1e-6)
        ), name
