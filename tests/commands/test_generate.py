"""Generation as a user runs it."""

import re
from pathlib import Path

import pytest

from seqkit.cli import main
from tests.conftest import TINY, Run, shared


def test_a_trained_model_writes_its_sentence(run: Run, trained: Path) -> None:
    result = run(
        "generate", f"checkpoint={trained}", "prompt=the rain in ", "temperature=0", "length=12"
    )
    assert result.out == b"the rain in spain stays "


def test_the_same_seed_gives_the_same_text(run: Run, trained: Path) -> None:
    def text(*more: str) -> bytes:
        result = run.ok("generate", f"checkpoint={trained}", "temperature=1.5", "length=60", *more)
        assert len(result.out) == 60
        return result.out

    assert text("seed=3") == text("seed=3")
    assert text("seed=3") != text("seed=4")
    assert text("top_k=1") == text("top_p=0.0001") == text("temperature=0")


def test_without_a_seed_each_text_is_another_and_its_seed_is_told(run: Run, trained: Path) -> None:
    words = ("generate", f"checkpoint={trained}", "temperature=4", "length=60")
    made = [run(*words), run(*words)]
    assert made[0].out != made[1].out
    for one in made:
        assert re.fullmatch(r"seed=\d+\n", one.err)
        again = run(*words, one.err.strip())
        assert (again.out, again.err) == (one.out, "")
    assert "seed" not in run(*words, "temperature=0").err  # nothing is drawn


def test_a_prompt_is_literal_and_comes_first(run: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_bytes(b"in spain\n")
    for prompt in (f"prompt_file={tmp_path / 'prompt.txt'}", "prompt=in spain\n"):
        result = run("generate", f"checkpoint={trained}", prompt, "length=5")
        assert result.out.startswith(b"in spain\n")
        assert len(result.out) == 14


def test_a_prompt_is_left_out(run: Run, trained: Path, tmp_path: Path) -> None:
    words = ["generate", f"checkpoint={trained}", "prompt=the rain", "length=9", "temperature=0"]
    words += ["include_prompt=false"]
    assert run.ok(*words).out == b" in spain"
    assert run.ok(*words, "streams=2").out == b" in spain\n\n in spain"
    run.ok(*words, f"out={tmp_path / 'a.txt'}")
    assert (tmp_path / "a.txt").read_bytes() == b" in spain"


def test_an_lstm_is_run_by_wasm_on_a_cpu(run: Run, trained: Path) -> None:
    words = ["generate", f"checkpoint={trained}", "length=400", "seed=1", "temperature=1.5"]
    words += ["device=cpu"]
    by_default, by_wasm, exact = (
        run.ok(*words, f"sample.engine={engine}").out for engine in ("auto", "wasm", "torch")
    )
    assert by_default == by_wasm != exact
    assert run.ok(*words, "sample.precision=fp32").out == exact


def test_streams_are_printed_one_below_the_other(run: Run, trained: Path) -> None:
    arguments = ["generate", f"checkpoint={trained}", "length=20", "temperature=1.5", "prompt=the "]
    arguments += ["seed=1"]
    result = run(*arguments, "streams=3")
    alone = run(*arguments)
    assert result.out.startswith(alone.out + b"\n\n")
    assert len(result.out) == 3 * 24 + 4


def test_files_are_written_and_not_overwritten(run: Run, trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "a, b.txt"
    arguments = ["generate", f"checkpoint={trained}", "length=20", f"out={out}", "prompt=the "]
    result = run(*arguments)
    assert (result.code, result.out) == (0, b"")
    assert len(out.read_bytes()) == 24
    assert "overwrite=true" in run.fails(6, *arguments)
    run.ok(*arguments, "overwrite=true")
    run.ok(*arguments, "streams=2")
    assert {path.name for path in tmp_path.iterdir()} == {"a, b.txt", "a, b_1.txt", "a, b_2.txt"}
    for place in (tmp_path / "no" / "a.txt", tmp_path):
        run.fails(6, "generate", f"checkpoint={trained}", f"out={place}")
    to_stdout = run("generate", f"checkpoint={trained}", "length=20", "prompt=the ", "out=-")
    assert len(to_stdout.out) == 24


def test_a_sample_ends_after_a_text_or_its_length(run: Run, trained: Path) -> None:
    words = ("generate", f"checkpoint={trained}", "prompt=the rain in ", "temperature=0")
    assert run(*words, "until= in ").out == b"the rain in spain stays mainly in "
    assert run(*words, "until= in ", "length=9").out == b"the rain in spain sta"
    assert "model.ends=true" in run.fails(2, *words, "until=document")


@pytest.fixture(scope="module")
def ending(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learnt from documents of one, two or three of the letters a and b."""

    def train(folder: Path) -> None:
        (folder / "texts").mkdir()
        for number in range(300):
            text = "ab"[number % 2] * (1 + number % 3)
            (folder / "texts" / f"{number}.txt").write_text(text)
        words = ["model.ends=true", "optimizer.lr=0.02", "train.max_steps=150"]
        assert (
            main([*TINY, f"data.path={folder / 'texts'}", f"run_dir={folder / 'run'}", *words]) == 0
        )

    return shared(tmp_path_factory, "ending", train) / "run"


@pytest.mark.parametrize("engine", ["torch", "wasm"])
def test_a_model_ends_its_documents(engine: str, run: Run, ending: Path, tmp_path: Path) -> None:
    words = ["generate", f"checkpoint={ending}", "seed=2", "temperature=1", "until=document"]
    words += [f"sample.engine={engine}", "streams=60"]
    printed = run.ok(*words)
    texts = printed.out.decode().split("\n\n")
    assert len(texts) == 60
    assert sum(text in {"a", "aa", "aaa", "b", "bb", "bbb"} for text in texts) > 50
    assert {len(text) for text in texts} >= {1, 2, 3}
    run.ok(*words, f"out={tmp_path / 'a.txt'}")
    files = [(tmp_path / f"a_{number:02}.txt").read_text() for number in range(1, 61)]
    assert files == texts


def test_a_network_may_learn_ends_later_and_keeps_them(
    run: Run, trained: Path, ending: Path, tmp_path: Path
) -> None:
    texts = ending.parent / "texts"
    for name, origin, more in (("a", trained, ["model.ends=true"]), ("b", ending, [])):
        words = [f"data.path={texts}", f"init_from={origin}", f"run_dir={tmp_path / name}", *more]
        run.ok(*TINY, *words, "optimizer.lr=0.02", "train.max_steps=150")
        made = run("generate", f"checkpoint={tmp_path / name}", "until=document", "seed=1")
        assert made.out.decode().strip() in {"a", "aa", "aaa", "b", "bb", "bbb"}
