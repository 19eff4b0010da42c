"""`generate loop=true` as a user runs it."""

from pathlib import Path

from tests.conftest import Run


def test_the_best_loop_of_some_takes(learnt: Path, run: Run, tmp_path: Path) -> None:
    words = ["generate", f"checkpoint={learnt / 'run'}", "seconds=0.5", "seed=1", "loop=true"]
    many = run.ok(*words, "streams=3", f"out={tmp_path / 'many.wav'}").err
    assert "stream 3 " in many
    told = run.ok(*words, "takes=3", f"out={tmp_path / 'best.wav'}").err
    number = told.partition("take ")[2][0]
    best = (tmp_path / "best.wav").read_bytes()
    assert best == (tmp_path / f"many_{number}.wav").read_bytes()
    assert run.ok(*words, "takes=3", "out=-").out[44:] == best[44:]


def test_what_is_no_loop_is_refused(learnt: Path, trained: Path, run: Run) -> None:
    for model, words, said in (
        (trained, "length=9", "this model writes text"),
        (learnt / "run", "sample.rate=8000", "it has the model's 4000 Hz"),
        (learnt / "run", "out=a.mp3", "give a .wav"),
    ):
        told = run.fails_in_a_line(2, "generate", f"checkpoint={model}", "loop=true", words)
        assert said in told
