"""Which saved state a run goes on from."""

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqkit.foundation import disk
from seqkit.foundation.errors import CheckpointError, UnreadableError
from seqkit.foundation.plugins import Catalogue
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.checkpoint import load as read_checkpoint
from seqkit.runs.folder import RunFolder
from seqkit.runs.layout import RunFiles
from seqkit.runs.saved_states import find_last, keep_best, settle
from tests.runs.test_folder import checkpoint


def load_last(
    files: RunFiles, catalogue: Catalogue, notice: Callable[[str], None]
) -> Checkpoint | None:
    """What a training does that goes on."""
    before = {file: file.stat().st_ino for file in files.checkpoints.glob("*")}
    found = find_last(files, catalogue, notice)
    assert {file: file.stat().st_ino for file in files.checkpoints.glob("*")} == before
    if found is None:
        return None
    settle(files, found, notice)
    return found.checkpoint


def test_the_newest_whole_checkpoint_is_found(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    notices: list[str] = []
    assert load_last(folder.files, Catalogue(), notices.append) is None
    with folder.claimed():
        folder.make()
        folder.save(checkpoint(1))
        folder.save(checkpoint(2))
    last, previous = (tmp_path / f"run/checkpoints/{n}.safetensors" for n in ("last", "previous"))
    found = load_last(folder.files, Catalogue(), notices.append)
    assert found is not None
    assert found.metrics["step"] == 2
    last.write_bytes(last.read_bytes()[:-1])
    found = load_last(folder.files, Catalogue(), notices.append)
    assert found is not None
    assert found.metrics["step"] == 1
    assert len(notices) == 1
    assert not last.exists()  # set aside, so that it never takes the good one's place
    last.write_bytes(b"")
    previous.write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"last.*; nor is previous.* of use\Z"):
        load_last(folder.files, Catalogue(), notices.append)


def test_the_best_holds_no_training_state(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    notices: list[str] = []
    with folder.claimed():
        folder.make()
        folder.save_best(checkpoint(4))
    assert load_last(folder.files, Catalogue(), notices.append) is None


def judged(
    step: int, scored: int | None, sha256: str, split: list[float], loss: float | None = 1.5
) -> Checkpoint:
    """The checkpoint of a step whose loss is that of so many symbols of some data."""
    made = checkpoint(step)
    made.metrics["scored"], made.metrics["best_validation_loss"] = scored, loss
    made.data = {"sha256": sha256}
    made.config = {"data": {"split": split, "path": [str(step)]}}
    return made


SPLIT = [0.8, 0.1, 0.1]


@pytest.mark.parametrize(
    ("new", "keeps"),
    [
        (judged(6, 100, "a", SPLIT), False),
        (judged(4, 100, "a", SPLIT), False),  # the training came to that step again
        (judged(3, 100, "a", SPLIT), True),  # to step 4 it may never come again
        (judged(4, 100, "a", SPLIT, 1.6), True),  # and with another learning rate
        (judged(6, 100, "a", SPLIT, 1.6), True),
        (judged(6, 100, "a", SPLIT, 1.4), False),
        (judged(6, 99, "a", SPLIT), True),
        (judged(4, 100, "b", SPLIT), True),
        (judged(6, 100, "a", [0.9, 0.1, 0.0]), True),
        (judged(6, None, "a", [1.0, 0.0, 0.0], None), True),  # nothing judges it
    ],
)
def test_a_best_that_may_be_the_better_one_is_kept(
    new: Checkpoint, keeps: bool, tmp_path: Path
) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    with folder.claimed():
        folder.make()
        folder.save_best(judged(4, 100, "a", SPLIT))
        best = folder.files.checkpoint("best")
        kept = best.with_suffix(".older")
        before = best.read_bytes()
        keep_best(folder.files, new, told.append)
        assert best.read_bytes() == before  # until the new one is there
        folder.save_best(new)
    assert kept.exists() == keeps
    assert len(told) == keeps
    if keeps:
        assert kept.read_bytes() == before


def test_a_best_of_a_newer_format_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    with folder.claimed():
        folder.make()
        monkeypatch.setattr("seqkit.runs.checkpoint.FORMAT", 2)
        folder.save_best(judged(4, 100, "a", SPLIT))
        monkeypatch.undo()
        keep_best(folder.files, judged(6, 100, "a", SPLIT), told.append)
    assert len(told) == 1


def test_a_best_of_another_program_is_no_reason_to_fail(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    with folder.claimed():
        folder.make()
        old = checkpoint(4)
        old.data = {"sha256": []}
        folder.save_best(old)
        keep_best(folder.files, judged(6, 100, "a", SPLIT), told.append)
    assert len(told) == 1


def test_a_kill_between_the_renames_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.claimed():
        folder.make()
        folder.save(checkpoint(1))
        folder.save(checkpoint(2))
        rename, names = disk.rename_within, []

        def killed(place: Path, source: str, target: str, check: Callable[[], object]) -> None:
            names.append(Path(target).stem)
            if names[-1] == "last":
                raise KeyboardInterrupt
            rename(place, source, target, check)

        monkeypatch.setattr(disk, "rename_within", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.save(checkpoint(3))
        monkeypatch.undo()
        assert names == ["previous", "last"]
        found = load_last(folder.files, Catalogue(), names.append)
        assert found is not None
        assert found.metrics["step"] == 3
        last = read_checkpoint(folder.files.checkpoint("last"), Catalogue())
        assert last.metrics["step"] == 3  # a finished run saves no other
        folder.save(checkpoint(4))
        found = load_last(folder.files, Catalogue(), names.append)
        assert found is not None
        assert found.metrics["step"] == 4
        assert not folder.files.checkpoint("next").exists()


def save_all(folder: RunFolder, *steps: int) -> None:
    """Save checkpoints of these steps, one after the other."""
    with folder.claimed():
        folder.make()
        for step in steps:
            folder.save(checkpoint(step))


def step_of(file: Path) -> int:
    return int(read_checkpoint(file, Catalogue()).metrics["step"])


def test_a_next_that_is_older_than_the_last_is_left_alone(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    save_all(folder, 1, 2, 3)
    checkpoint(1).save(folder.files.checkpoint("next"))
    found = load_last(folder.files, Catalogue(), told.append)
    assert (found and found.metrics["step"], told) == (3, [])
    assert step_of(folder.files.checkpoint("last")) == 3
    assert step_of(folder.files.checkpoint("previous")) == 2


def test_a_damaged_last_takes_no_whole_ones_place(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    save_all(folder, 1, 2)
    checkpoint(3).save(folder.files.checkpoint("next"))
    folder.files.checkpoint("last").write_bytes(b"")
    found = load_last(folder.files, Catalogue(), told.append)
    assert found and found.metrics["step"] == 3
    assert [line.endswith("; going on from next.safetensors") for line in told] == [True]
    assert step_of(folder.files.checkpoint("last")) == 3
    assert step_of(folder.files.checkpoint("previous")) == 1


def test_a_last_that_is_missing_is_told(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    save_all(folder, 1, 2)
    last = folder.files.checkpoint("last")
    last.unlink()
    found = load_last(folder.files, Catalogue(), told.append)
    assert found and found.metrics["step"] == 1
    assert told == [f"{last} is missing: going on from previous.safetensors"]


def test_a_previous_that_is_newer_than_the_last_is_kept(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    save_all(folder, 4, 5)
    last, previous = (folder.files.checkpoint(name) for name in ("last", "previous"))
    checkpoint(2).save(last)  # as another program copied it back
    found = load_last(folder.files, Catalogue(), told.append)
    assert found and found.metrics["step"] == 2
    kept = previous.with_suffix(".newer")
    assert told == [
        f"going on from last.safetensors, of step 2, though previous.safetensors is of step 4: it "
        f"is kept as {kept}"
    ]
    save_all(folder, 3, 6)
    assert step_of(kept) == 4
    assert kept in folder.files.written  # overwrite=true removes it


def test_a_previous_that_is_newer_than_the_next_is_kept(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    save_all(folder, 8, 9)
    checkpoint(2).save(folder.files.checkpoint("last"))
    checkpoint(3).save(folder.files.checkpoint("next"))
    found = load_last(folder.files, Catalogue(), told.append)
    assert found and found.metrics["step"] == 3
    assert step_of(folder.files.checkpoints / "previous.newer") == 8
    assert step_of(folder.files.checkpoint("previous")) == 2
    assert [line.startswith("going on from next.safetensors, of step 3,") for line in told] == [
        True
    ]


def test_two_damaged_ones_beside_a_next_are_kept(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    save_all(folder, 1, 2)
    checkpoint(3).save(folder.files.checkpoint("next"))
    for name in ("last", "previous"):
        file = folder.files.checkpoint(name)
        file.write_bytes(file.read_bytes()[:-1])
    found = load_last(folder.files, Catalogue(), told.append)
    assert found and found.metrics["step"] == 3
    names = {file.name for file in folder.files.checkpoints.iterdir()}
    assert names == {"last.safetensors", "last.damaged", "previous.damaged"}


def test_a_previous_that_is_damaged_is_kept(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    save_all(folder, 4, 5)
    previous = folder.files.checkpoint("previous")
    content = previous.read_bytes()[:-1]
    previous.write_bytes(content)
    found = load_last(folder.files, Catalogue(), told.append)
    assert found and found.metrics["step"] == 5
    kept = folder.files.checkpoints / "previous.damaged"
    assert told == [f"{previous} is damaged: it is kept as {kept}"]
    save_all(folder, 6)
    assert kept.read_bytes() == content


def test_what_was_set_aside_stays(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    last = folder.files.checkpoint("last")
    for begin in (1, 3):
        save_all(folder, begin, begin + 1)
        last.write_bytes(last.read_bytes()[:-begin])
        assert load_last(folder.files, Catalogue(), print)
    aside = [folder.files.checkpoints / name for name in ("last.damaged", "last.damaged_2")]
    first, second = (file.stat().st_size for file in aside)
    assert first == second + 2
    assert {*aside} <= {*folder.files.written}


def test_a_checkpoint_with_what_a_later_seqkit_added_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    save_all(folder, 1)
    original = json.dumps

    def later(header: dict[str, Any]) -> str:
        if "model" in header:
            header["model"]["new_key"] = 1
        return original(header)

    monkeypatch.setattr("seqkit.runs.checkpoint.json.dumps", later)
    save_all(folder, 2)
    monkeypatch.undo()
    with pytest.raises(UnreadableError, match="new_key"):
        load_last(folder.files, Catalogue(), print)
    assert folder.files.checkpoint("last").exists()


def test_what_cannot_be_read_now_is_not_taken_for_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    save_all(folder, 1, 2)
    last = folder.files.checkpoint("last")
    whole, read = last.read_bytes(), Path.read_bytes

    def fails(path: Path) -> bytes:
        if path == last:
            raise OSError(errno.EIO, "Input/output error")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", fails)
    with pytest.raises(UnreadableError, match=r"last\.safetensors: cannot be read: input/output"):
        load_last(folder.files, Catalogue(), print)
    monkeypatch.undo()
    assert last.read_bytes() == whole
    monkeypatch.setattr("seqkit.runs.checkpoint.FORMAT", 0)
    with pytest.raises(UnreadableError, match="format 1, and this seqkit reads format 0"):
        load_last(folder.files, Catalogue(), print)
    assert last.read_bytes() == whole


def test_an_old_next_is_not_newer_than_previous_where_last_is_bad(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    save_all(folder, 4, 5)
    checkpoint(1).save(folder.files.checkpoint("next"))
    folder.files.checkpoint("last").write_bytes(b"")
    found = load_last(folder.files, Catalogue(), told.append)
    assert found and found.metrics["step"] == 4
    assert [line.endswith("; going on from previous.safetensors") for line in told] == [True]


@pytest.mark.parametrize("name", ["best", "previous"])
def test_what_cannot_be_read_now_is_not_replaced(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    save_all(folder, 1, 2)
    checkpoint(2).save(folder.files.checkpoint("best"))
    file = folder.files.checkpoint(name)
    before = {own: own.read_bytes() for own in folder.files.checkpoints.iterdir()}
    real = Path.open

    def broken(path: Path, *given: Any) -> Any:
        if path == file:
            raise OSError(errno.EIO, "Input/output error")
        return real(path, *given)

    monkeypatch.setattr(Path, "open", broken)
    with pytest.raises(UnreadableError, match=rf"{name}\.safetensors: cannot be read"):
        load_last(folder.files, Catalogue(), print)
    monkeypatch.undo()
    assert {own: own.read_bytes() for own in folder.files.checkpoints.iterdir()} == before


def test_a_best_that_is_newer_than_the_last_is_kept_with_previous(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path / "run"), list[str]()
    save_all(folder, 1, 3, 4)
    best = folder.files.checkpoint("best")
    checkpoint(4).save(best)
    checkpoint(2).save(folder.files.checkpoint("last"))
    found = load_last(folder.files, Catalogue(), told.append)
    assert found and found.metrics["step"] == 2
    assert step_of(folder.files.checkpoints / "previous.newer") == 3
    assert step_of(folder.files.checkpoints / "best.newer") == 4
    assert len(told) == 2
    assert not best.exists()
    checkpoint(5).save(best)  # of a kill between the two saves of a step
    load_last(folder.files, Catalogue(), told.append)
    assert (step_of(best), len(told)) == (5, 2)
