"""A run goes on by its folder alone: with its own settings, and no others unasked."""

import shutil
from pathlib import Path

import pytest
import yaml

from tests.conftest import (
    SENTENCE,
    TINY,
    Run,
    Write,
    same,
    saved,
)

pytestmark = pytest.mark.faults


def begin(run: Run, text: Path, into: Path, *more: str) -> None:
    """Train for three steps."""
    words = (f"data.path={text}", f"run_dir={into}", "train.max_steps=3", *more)
    run.ok(*TINY, *words)


def test_a_run_goes_on_as_with_its_whole_command_line(
    run: Run, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = ("seed=5", "optimizer.lr=0.02", "prompt=the ", "temperature=0.3")
    begin(run, text_file, tmp_path / "a", *more)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    words = (f"data.path={text_file}", f"run_dir={tmp_path / 'a'}", "resume=auto", *more)
    whole = run.ok(*TINY, *words, "train.max_steps=9")
    monkeypatch.chdir(tmp_path)
    alone = run.ok("run_dir=b", "resume=auto", "train.max_steps=9")
    assert "going on at step 3" in alone.err
    assert alone.out == whole.out
    assert same(tmp_path / "a", tmp_path / "b")
    again = run("run_dir=b", "resume=auto")
    assert (again.code, again.out) == (0, b"")
    assert "this run is finished, at step 9" in again.err


def test_what_says_when_to_stop_or_how_to_show_may_be_given(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    begin(run, text_file, tmp_path / "a", "prompt=the", "quiet=true")
    done = run.ok(
        *(f"run_dir={tmp_path / 'a'}", "resume=auto", "train.max_steps=6", "train.patience=9"),
        *("train.validate_every=2", "train.checkpoint_every=2", "train.max_epochs=50"),
        *("device=cpu", "temperature=0", "sample.engine=torch", "prompt=in ", "length=7"),
    )
    assert "step 4: validation loss" in done.err  # what was quiet before is not for ever
    assert done.out.decode().startswith("in ")
    assert len(done.out) == len("in ") + 7


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            "optimizer.lr=0.5",
            "optimizer.lr. Leave it as it was, or give resume=force, or begin a new run with init",
        ),
        ("seed=9", "seed. Leave"),
        ("init_from=shakespeare", "init_from. Leave it as it was\n"),
        ("data.split=[0.8,0.2,0]", "data.split"),
        ("train.batch_size=8", "train.batch_size"),
        ("model.hidden_size=20", "model.hidden_size. Leave it as it was\n"),
        ("model.depth=3", "unknown key model.depth"),
        ("train.max_steps=0", "at least 1"),
    ],
)
def test_what_shapes_learning_is_not_changed_unasked(
    word: str, said: str, run: Run, trained: Path, tmp_path: Path
) -> None:
    shutil.copytree(trained, tmp_path / "a")
    before = (tmp_path / "a" / "config.yaml").read_bytes()
    assert said in run.fails(2, f"run_dir={tmp_path / 'a'}", "resume=auto", word)
    assert (tmp_path / "a" / "config.yaml").read_bytes() == before


def test_force_goes_on_all_the_same_and_remembers(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    begin(run, text_file, tmp_path / "a")
    folder = f"run_dir={tmp_path / 'a'}"
    forced = run.ok(folder, "resume=force", "optimizer.lr=0.5", "train.max_steps=5")
    assert "going on though" in forced.err
    run.ok(folder, "resume=auto", "train.max_steps=6")
    assert yaml.safe_load((tmp_path / "a" / "config.yaml").read_text())["optimizer"]["lr"] == 0.5


def test_what_is_refused_changes_no_checkpoint(run: Run, text_file: Path, tmp_path: Path) -> None:
    begin(run, text_file, tmp_path / "a")
    place = tmp_path / "a" / "checkpoints"
    last = place / "last.safetensors"
    content = bytearray(last.read_bytes())
    content[-1] ^= 1
    last.write_bytes(content)
    before = {file.name: file.read_bytes() for file in place.iterdir()}
    assert "began with another value" in run.fails(
        2, f"run_dir={tmp_path / 'a'}", "resume=auto", "optimizer.lr=0.5"
    )
    assert {file.name: file.read_bytes() for file in place.iterdir()} == before


def test_other_data_are_refused(run: Run, text_file: Path, tmp_path: Path) -> None:
    begin(run, text_file, tmp_path / "a")
    text_file.write_text(SENTENCE * 39)
    folder = f"run_dir={tmp_path / 'a'}"
    for key in ("data.unknown=skip", "train.batch_size=3"):
        refused = run.fails(2, folder, "resume=force", key)
        assert "Leave it as it was, or begin a new run with init_from=" in refused
    for how in ("auto", "force"):
        refused = run.fails(2, folder, f"resume={how}", "train.max_steps=5")
        assert f"is not as it was when the run in {tmp_path / 'a'} began: put it back" in refused
    text_file.write_text(SENTENCE * 40 + "Ж")
    said = run.fails(3, folder, "resume=auto", "train.max_steps=5")
    assert "is not what the run learns from" in said
    assert "init_from" in said
    moved = text_file.rename(tmp_path / "moved.txt")
    moved.write_text(SENTENCE * 40)
    said = run.fails(3, folder, "resume=auto", "train.max_steps=5")
    assert f"{text_file}: cannot be read: no such file or directory: the run learns from it" in said
    run.ok(folder, "resume=auto", "train.max_steps=5", f"data.path={moved}")
    shutil.rmtree(tmp_path / "a")
    text_file.write_text(SENTENCE * 40)
    begin(run, text_file, tmp_path / "a")
    moved = tmp_path / "moved.txt"
    moved.write_text(SENTENCE * 40)
    run.ok(folder, "resume=auto", "train.max_steps=5", f"data.path={moved}")
    moved.unlink()
    assert "moved.txt: cannot be read: no such file" in run.fails(
        3, folder, "resume=auto", "train.max_steps=7"
    )


def test_paths_are_found_from_any_folder(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.txt").write_text(SENTENCE * 40)
    (tmp_path / "prompt.txt").write_text("the ")
    shutil.copytree(trained, tmp_path / "origin")
    monkeypatch.chdir(tmp_path)
    begin(run, Path("a.txt"), Path("b"), "init_from=origin", "prompt_file=prompt.txt")
    monkeypatch.chdir(tmp_path / "deep")
    again = run.ok("run_dir=../b", "resume=auto", "train.max_steps=5")
    assert "going on at step 3" in again.err
    assert again.out.startswith(b"the ")


@pytest.fixture
def words(write: Write, tmp_path: Path) -> list[str]:
    """The command line of a run on a data set that cannot be had, and for which a sample stands."""
    sample = tmp_path / "sample.txt"
    sample.write_text(SENTENCE * 40)
    write(
        "my_words.py",
        "from pathlib import Path\n"
        "from seqkit.data.download import Download\n"
        "FILE = Download('words', 'words.txt', 'file:///none', '', sample="
        f"Path({str(sample)!r}))\n"
        "DATASETS = {'words': FILE}\n",
    )
    return [*TINY, "plugins=my_words", "data.dataset=words", f"run_dir={tmp_path / 'a'}"]


def test_a_run_keeps_to_the_sample_that_stood_in_for_its_data_set(
    words: list[str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(*words, "resume=auto", "train.max_steps=3")
    assert "words cannot be downloaded" in done.err
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "words.txt").write_text("Ξ" * 900)
    monkeypatch.setenv("SEQKIT_DATA_DIR", str(tmp_path / "kept"))
    for number, line in enumerate((words, words[-1:], [words[-1], "plugins=my_words"])):
        run.ok(*line, "resume=auto", f"train.max_steps={4 + number}")
        assert saved(tmp_path / "a").metrics["step"] == 4 + number
    run.ok("evaluate", f"checkpoint={tmp_path / 'a'}", "device=cpu")
    # Nor does a sample take the place of the data set that a run began with.
    (tmp_path / "kept" / "words.txt").write_text(SENTENCE * 30)
    run.ok(*words[:-1], f"run_dir={tmp_path / 'b'}", "train.max_steps=3")
    monkeypatch.delenv("SEQKIT_DATA_DIR")
    again = (f"run_dir={tmp_path / 'b'}", "plugins=my_words", "resume=force", "train.max_steps=5")
    for asked in (again, ("evaluate", f"checkpoint={tmp_path / 'b'}", "plugins=my_words")):
        refused = run.fails(3, *asked)
        assert "words cannot be downloaded" in refused
        assert "SEQKIT_DATA_DIR with words.txt in it" in refused
