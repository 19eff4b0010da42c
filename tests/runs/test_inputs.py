"""No training clears, or writes into, what it learns from or starts from."""

import shutil
from pathlib import Path

import pytest

from seqkit.config import Config
from seqkit.runs.folder import RunFolder
from seqkit.runs.layout import RunFiles
from tests.conftest import SENTENCE, TINY, Run


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "text.txt").write_text(SENTENCE * 40)
    return f"data.path={tmp_path / 'text.txt'}"


def content(folder: Path) -> dict[Path, bytes]:
    """All files of a folder that are not hidden."""
    return {file: file.read_bytes() for file in folder.rglob("[!.]*") if file.is_file()}


def test_weights_to_start_from_are_not_replaced(run: Run, text: str, tmp_path: Path) -> None:
    folder = tmp_path / "y"
    words = [*TINY, text, "train.max_steps=2"]
    assert run(*words, f"run_dir={folder}").code == 0
    before = content(folder)
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    inner = tmp_path / "inner"
    (inner).mkdir()
    (inner / "checkpoints").symlink_to(folder / "checkpoints")
    for run_dir, origin in [
        (folder, folder),
        (folder, folder / "checkpoints" / "last.safetensors"),
        (linked, folder),
        (folder, inner),
    ]:
        refused = run(*words, f"run_dir={run_dir}", f"init_from={origin}", "overwrite=true")
        assert (refused.code, refused.err.count("\n")) == (6, 1), refused.err
        said = f"init_from={origin} lies in {run_dir}, which overwrite=true replaces: give another"
        assert said in refused.err
        assert content(folder) == before
    other = [f"run_dir={tmp_path / 'z'}", f"init_from={folder}"]
    assert run(*words, *other).code == run(*words, *other, "overwrite=true").code == 0


@pytest.mark.parametrize(
    "how", [[], pytest.param(["launcher=local", "jobs=2"], marks=pytest.mark.thorough)]
)
def test_a_sweep_does_not_replace_what_it_reads(
    how: list[str], run: Run, text: str, tmp_path: Path
) -> None:
    folder = tmp_path / "sw"
    words = [*TINY, "train.max_steps=2"]
    assert run("--multirun", *words, text, f"run_dir={folder}", "seed=1,2").code == 0
    before = content(folder)
    again = ["--multirun", *words, f"run_dir={folder}", "seed=1,2", "overwrite=true", *how]
    for key, place, number in [
        ("init_from", folder / "0", 0),
        ("init_from", folder / "1" / "checkpoints" / "best.safetensors", 1),
        ("data.path", folder / "1" / "samples", 1),
    ]:
        data = [text] if key == "init_from" else []
        refused = run(*again, *data, f"{key}={place}")
        assert (refused.code, refused.err.count("\n")) == (6, 1), refused.err
        said = f"{key}={place} lies in {folder / str(number)}, which overwrite=true replaces"
        assert said in refused.err
        assert content(folder) == before


@pytest.mark.parametrize("more", [["overwrite=true"], ["resume=auto"], []])
def test_a_new_run_does_not_write_to_the_folder_of_its_data(
    more: list[str], run: Run, tmp_path: Path
) -> None:
    hidden = tmp_path / "a" / ".data"  # of what is not, the folder is found to be somebody's
    hidden.mkdir(parents=True)
    (hidden / "own.txt").write_text(SENTENCE * 40)
    words = [*TINY, "train.max_steps=2", f"run_dir={tmp_path / 'a'}", *more]
    for place in (hidden, hidden / "own.txt"):
        refused = run(*words, f"data.path={place}")
        assert (refused.code, refused.err.count("\n")) == (6, 1), refused.err
        said = f"data.path={place} lies in {tmp_path / 'a'}, the run's own folder: give another"
        assert said in refused.err
    assert [*(tmp_path / "a").iterdir()] == [hidden]


def test_a_run_that_starts_again_does_not_write_over_its_data(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    (folder / "samples").mkdir(parents=True)
    data = folder / "samples" / "step_0000001.txt"
    data.write_text(SENTENCE * 40)
    RunFolder(folder).write_config(Config(recipe="shakespeare"))
    words = [*TINY, f"run_dir={folder}", f"data.path={data}", "train.max_steps=1"]
    refused = run(*words, "resume=auto")
    assert refused.code == 6, refused.err
    assert f"{data} lies in {folder}, the run's own folder" in refused.err
    assert data.read_text() == SENTENCE * 40


def test_a_run_that_starts_again_does_not_start_from_what_it_moves_away(
    run: Run, trained: Path, text_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    shutil.copytree(trained, folder)
    for name in ("last", "previous"):
        RunFiles(folder).checkpoint(name).unlink(missing_ok=True)
    before = content(folder)
    words = [*TINY, f"run_dir={folder}", f"data.path={text_file}", "resume=auto"]
    prompt = next(folder.glob("samples/step_*.txt"))
    for word, said in [
        (f"init_from={folder}", "lies in"),
        (f"prompt_file={prompt}", "is of the run in"),
    ]:
        refused = run(*words, word)
        assert (refused.code, refused.err.count("\n")) == (6, 1), refused.err
        assert f"{word} {said} {folder}, the run's own folder" in refused.err
        assert content(folder) == before


def test_a_prompt_is_not_replaced_with_the_run_that_it_lies_in(
    run: Run, trained: Path, text_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    shutil.copytree(trained, folder)
    prompt = next(folder.glob("samples/step_*.txt"))
    before = content(folder)
    words = [*TINY, f"run_dir={folder}", f"data.path={text_file}", "overwrite=true"]
    refused = run(*words, f"prompt_file={prompt}")
    assert (refused.code, refused.err.count("\n")) == (6, 1), refused.err
    assert f"prompt_file={prompt} is of the run in {folder}, which overwrite=true" in refused.err
    assert content(folder) == before
    mine = folder / "mine.txt"
    mine.write_text("the")
    assert run(*words, f"prompt_file={mine}", "train.max_steps=1").code == 0


def test_data_above_a_run_are_apart_from_it(run: Run, text: str, tmp_path: Path) -> None:
    words = [*TINY, f"data.path={tmp_path}", f"run_dir={tmp_path / 'a'}", "train.max_steps=2"]
    assert run(*words).code == run(*words, "overwrite=true").code == 0


def test_a_run_that_began_in_the_folder_of_its_data_goes_on(
    run: Run, text: str, tmp_path: Path
) -> None:
    words = [*TINY, f"run_dir={tmp_path / 'a'}"]
    assert run(*words, text, "train.max_steps=2").code == 0
    moved = tmp_path / "a" / "text.txt"
    (tmp_path / "text.txt").rename(moved)
    data = f"data.path={moved}"
    assert run(*words, data, "train.max_steps=4", "resume=auto").code == 0
    assert run(*words, data, "overwrite=true").code == 6
