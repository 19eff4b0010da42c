"""A run is read as far as it can be, whatever has become of its folder."""

from pathlib import Path

from seqkit.runs.record import read


def test_losses_over_other_symbols_than_the_last_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    lines = [(10, 1.0, 64), (20, 2.0, 128), (30, 1.9, 128)]
    file.write_text(
        "".join(
            f'{{"event": "validate", "step": {step}, "loss": {loss}, "scored": {scored}, '
            '"total": 256}\n'
            for step, loss, scored in lines
        )
    )
    found = read(tmp_path)
    assert found.validation.values.tolist() == [2.0, 1.9]
    assert found.step == 30
