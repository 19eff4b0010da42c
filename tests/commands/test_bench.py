"""`bench` prints its table or its JSON, at any shape that is given."""

import json

import pytest

from tests.conftest import Run

SMALL = ("device=cpu", "model.hidden_size=8", "train.batch_size=2", "train.sequence_length=4")


@pytest.mark.thorough
def test_json_has_all_rows_and_ratios(run: Run) -> None:
    found = run.json("bench", "shape=mycaffe", *SMALL)
    rows = {row["name"]: row for row in found["rows"]}
    assert set(rows) == {
        *("seqkit", "seqkit_forward_backward", "bare", "unrolled", "plain", "plain_best"),
    }
    for row in rows.values():
        assert 0 < row["p10_ms"] <= row["median_ms"] <= row["p90_ms"]
        assert row["symbols_per_second"] == pytest.approx(8 / row["median_ms"] * 1000)
        assert row["calls"] >= 100
    for slow, fast in (name.split("/") for name in found["ratios"]):
        ratio = rows[slow]["median_ms"] / rows[fast]["median_ms"]
        assert found["ratios"][f"{slow}/{fast}"] == pytest.approx(ratio)
    assert {"plain/seqkit", "plain_best/seqkit"} <= set(found["ratios"])
    assert rows["plain_best"]["variant"] in ("fp32", "bf16 autocast")
    assert found["shape"] == "mycaffe"
    assert [row["forward_backward_ms"] for row in found["published"]] == [64.0, 12.8]
    assert all(row["hidden_size"] == 512 for row in found["published"])  # not what was timed here


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("shape", ["generate_text", "generate_audio"])
def test_engines_are_timed_side_by_side(run: Run, shape: str) -> None:
    small = ("device=cpu", "model.hidden_size=8", "length=4", "streams=2", "json=true")
    result = run.ok("bench", f"shape={shape}", *small)
    found = json.loads(result.out)
    rows = {row["name"]: row for row in found["rows"]}
    engines = {"torch", "onnx_fp32", "onnx_int8"}
    assert set(rows) == engines | {"plain", "onnxruntime_bare", "onnxruntime_bare_int8"}
    for row in rows.values():
        rate = 2 * row["steps"] / row["median_ms"] * 1000
        assert row["symbols_per_second"] == pytest.approx(rate)
        if shape == "generate_audio":
            assert row["real_time_factor"] == pytest.approx(rate / 2 / 16000)
    bare = rows["onnx_fp32"]["symbols_per_second"] / rows["onnxruntime_bare"]["symbols_per_second"]
    assert found["ratios"]["onnxruntime_bare/onnx_fp32"] == pytest.approx(bare)
    table = run("bench", f"shape={shape}", *small[:-1]).out.decode()
    assert "a step" in table
    assert "µs" in table
