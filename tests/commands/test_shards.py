"""A training on shards is the training on the files that they were made of."""

import json
from pathlib import Path

import pytest

from seqkit.data.shards import plan
from tests.commands.by_hand import begun_by_hand, outcomes
from tests.conftest import SENTENCE, TINY, Run, completed, same, saved, torchrun, wait_for_steps

ENDLESS = ("train.max_steps=100000", "train.checkpoint_every=10", "train.validate_every=0")
STEPS = ("train.max_steps=12", "train.validate_every=6", "optimizer.lr=0.02")


@pytest.fixture
def shards(run: Run, tmp_path: Path) -> Path:
    """Shards of a text that stands beside them."""
    (tmp_path / "text.txt").write_text(SENTENCE * 60)
    run.ok("prepare", f"data.path={tmp_path}/text.txt", f"out={tmp_path}/shards")
    return tmp_path / "shards"


@pytest.mark.thorough
def test_it_learns_the_same(run: Run, shards: Path, tmp_path: Path) -> None:
    for name, data in (("a", tmp_path / "text.txt"), ("b", shards)):
        run.ok(*TINY, *STEPS, f"data.path={data}", f"run_dir={tmp_path}/{name}")
    assert same(tmp_path / "a", tmp_path / "b")
    assert saved(tmp_path / "b").codec.to_spec() == saved(tmp_path / "a").codec.to_spec()
    for command in (["score"], ["generate", "length=9", "seed=1"]):
        one, other = (run(*command, f"checkpoint={tmp_path}/{name}") for name in "ab")
        assert one.code == other.code == 0, other.err
        assert one.out == other.out
    found = [run("evaluate", "json=true", f"checkpoint={tmp_path}/{name}") for name in "ab"]
    one, other = (json.loads(told.out) for told in found)
    assert {key for key in one if one[key] != other[key]} == {"checkpoint", "data_sha256"}
    run.ok("evaluate", f"checkpoint={tmp_path}/a", f"data.path={shards}")
    told = run("doctor", f"data.path={shards}", "train.max_minutes=1")
    assert (told.code, b"2,700" in told.out) == (0, True), told.err


def test_it_goes_on(run: Run, shards: Path, tmp_path: Path) -> None:
    words = [*TINY, f"data.path={shards}", *STEPS]
    run.ok(*words, f"run_dir={tmp_path}/whole")
    run.ok(*words, f"run_dir={tmp_path}/parts", "train.max_steps=7")
    lost = (shards / "index.json").rename(tmp_path / "lost.json")
    assert f"{shards}/index.json: missing: " in run.fails(
        3, f"run_dir={tmp_path}/parts", "resume=auto", "train.max_steps=12"
    )
    lost.rename(shards / "index.json")
    run.ok(f"run_dir={tmp_path}/parts", "resume=auto", "train.max_steps=12")
    run.ok(*words, f"run_dir={tmp_path}/parts", "resume=auto")
    assert same(tmp_path / "whole", tmp_path / "parts")


def test_what_is_refused(run: Run, shards: Path, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("qrstuvw\n" * 99)
    other = f"data.path={tmp_path}/other"
    run.ok("prepare", f"{other}.txt", f"out={tmp_path}/other")
    training = [*TINY, *STEPS, f"run_dir={tmp_path}/run"]
    (shards / "000000.bin").write_bytes(b"\0" * 2700)
    for code, said, words in (
        (2, "were made with data.kind=text: give that", [other, "data.kind=bytes"]),
        (2, "give it as the only data.path", [other, f"{other}.txt"]),
        (2, "another vocabulary than the checkpoint's", [other, f"init_from={trained}"]),
        (3, "000000.bin: altered", [f"data.path={shards}"]),
    ):
        refused = run.fails(code, *training, *words)
        assert said in refused
        assert "Traceback" not in refused
    assert "another vocabulary" in run.fails(2, "evaluate", f"checkpoint={trained}", other)


@pytest.mark.thorough
def test_several_processes_learn_from_shards(shards: Path, tmp_path: Path) -> None:
    words = [*TINY, *STEPS, f"data.path={shards}", f"run_dir={tmp_path}/run"]
    ended = completed(torchrun(2, "seqkit", *words), cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert saved(tmp_path / "run").metrics["step"] == 12


@pytest.mark.parametrize(
    ("damaged", "code", "begins"),
    [(0, 3, ""), pytest.param(2, 5, "rank 1: ", marks=pytest.mark.thorough)],
)
def test_a_shard_that_is_cut_short_ends_all_processes_though_one_alone_reads_it(
    damaged: int,
    code: int,
    begins: str,
    run: Run,
    tmp_path: Path,
    port: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "text.txt").write_text(SENTENCE * 400)
    monkeypatch.setattr(plan, "SHARD", 4500)
    run.ok("prepare", f"data.path={tmp_path}/text.txt", f"out={tmp_path}/shards")
    words = ("data.path=shards", "run_dir=run", *ENDLESS)
    with begun_by_hand(tmp_path, port, words, words) as both:
        wait_for_steps(tmp_path / "run", 20)
        with (tmp_path / "shards" / f"00000{damaged}.bin").open("r+b") as shard:
            shard.truncate(1000)
        first, second = outcomes(both)
    assert (first[0], second) == (code, (8 - code, "", "")), first[2]
    said, advice = first[2].splitlines()[-2:]
    assert said.startswith(f"seqkit: error: {begins}{tmp_path}")
    assert ".bin: 1,000 bytes in place of the 4,500 that were written" in said
    launcher = "torchrun --standalone --nproc-per-node=2"
    assert advice.startswith("The run's last checkpoint is whole. To go on: ")
    assert advice.endswith(f"{launcher} -m seqkit run_dir=run resume=auto")
    assert saved(tmp_path / "run").training
