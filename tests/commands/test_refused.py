"""Command lines that cannot be done, and trainings that diverge, end in a line with their code."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.commands.conftest import RATE
from tests.conftest import SENTENCE, Run, weights

PERSISTENT = "recipe=shakespeare data.path=text.txt device=cpu model.backend=persistent"
REFUSED = [
    # Words that mean nothing, or not together.
    ("trian", 2, "did you mean train?"),
    ("--nonsense", 2, "--nonsense"),
    ("text.txt", 2, "give it by its key, as in data.path=FILE"),
    ("--multirun", 2, "no recipe"),
    ("generate --checkpoint runs/a", 2, "keys have no dashes: give checkpoint=runs/a"),
    ("generate --top-k=5", 2, "keys have no dashes: give top_k=5"),
    ("recipe = shakespeare", 2, "recipe is a key: give recipe=VALUE, without blanks around ="),
    ("generate prompt = ROMEO:", 2, "give prompt=VALUE, without blanks around ="),
    ("generate prompt=ROMEO and Juliet seed=1", 2, "as in 'prompt=ROMEO and Juliet'"),
    ("generate checkpoint={run}x", 4, "did you mean {run}?"),
    ("generate checkpoint=Shakespeare", 4, "did you mean shakespeare?"),
    ("train", 2, "recipe"),
    ("model.num_layers=2", 2, "recipe"),
    ("recipe=none", 2, "no recipe named none"),
    ("recipe=own/a.yaml", 2, "give folder and name: --config-dir own recipe=a. There are:"),
    ("recipe=Shakespeare", 2, "did you mean shakespeare?"),
    ("recipe=shakespeare data=my.txt", 2, "key data: it is a group of keys: data.kind, data.datas"),
    ("recipe=shakespeare model.depth=2", 2, "unknown key model.depth"),
    ("recipe=shakespeare train.max_steps=many", 2, "expected a whole number"),
    ("recipe=shakespeare device=tpu", 2, "device=tpu"),
    ("recipe=shakespeare resume=auto", 2, "resume=auto: give run_dir=FOLDER"),
    ("resume=force", 2, "resume=force: give run_dir=FOLDER"),
    ("run_dir=none resume=auto", 2, "no such folder: give the folder of a run, or recipe="),
    ("run_dir=text.txt resume=auto", 2, "no such folder: give the folder of a run"),
    ("run_dir=. resume=force", 2, "no run in this folder: give the folder of a run, or"),
    ("run_dir={run}/.. resume=auto", 2, "it holds the runs run: give the folder of one"),
    ("run_dir={run}", 2, "resume=auto goes on with the run in {run}"),
    ("recipe=shakespeare --config-dir none", 2, "--config-dir none: no such folder"),
    ("--help --config-dir none", 2, "--config-dir none: no such folder"),
    ("recipe=shakespeare --cfg --config-dir none", 2, "--config-dir none: no such folder"),
    ("recipe=shakespeare train.precision=fp16 device=cpu", 2, "fp16"),
    ("recipe=shakespeare prompt=a prompt_file=b", 2, "give one of"),
    ("recipe=shakespeare run_dir=~/a", 2, "write $HOME in its place"),
    ("recipe=shakespeare data.path=~/a", 2, "write $HOME in its place"),
    ("recipe=shakespeare out=~/a", 2, "write $HOME in its place"),
    ("recipe=shakespeare data.path=", 2, "data.path= is empty"),
    ("recipe=shakespeare init_from={run} run_dir={run} overwrite=true", 6, "what init_from reads"),
    ("recipe=shakespeare checkpoint=my_run", 2, "did you mean init_from=my_run,"),
    ("recipe=shakespeare data.path=foo://bucket/a.txt", 2, "a.txt: download it, or write it to "),
    ("recipe=wav_generation data.path=stereo.wav data.channels=2", 2, "give data.codec=spectral"),
    ("recipe=wav_generation data.levels=4096", 2, "a value of at least 2 and at most 1024"),
    (
        "recipe=my_sound data.path=stereo.wav init_from={run}",
        2,
        "trained with characters, and reads text",
    ),
    ("generate checkpoint={sound} prompt_audio=.", 3, "it is a folder: give a recording"),
    ("--multirun recipe=shakespeare model.num_layers=1,0", 2, "model.num_layers=0"),
    ("--multirun generate checkpoint=x", 2, "--multirun"),
    ("--multirun run_dir=s seed=1,2", 2, "no recipe: a sweep needs one"),
    ("--multirun recipe=shakespeare jobs=2", 2, "jobs=2: that is gone: xargs -P 4"),
    ("--multirun recipe=shakespeare launcher=locl", 2, "choose one of serial, local"),
    ("--multirun recipe=shakespeare model.num_layer=1,2", 2, "mean model.num_layers?"),
    ("--multirun recipe=shakespeare model.dropout=0.1,7", 2, "at most 0.95"),
    ("--multirun recipe=shakespeare optimizer.lr=interval(1e-4,1)", 2, "optimizer.lr=interval"),
    ("generate", 2, "no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE"),
    ("generate checkpoint={run} prompt_audio=stereo.wav", 2, "writes text"),
    ("generate checkpoint={run} takes=2", 2, "takes=2: this model writes text: give streams=2"),
    ("generate checkpoint={sound} prompt=hello", 2, "prompt_audio"),
    ("generate checkpoint={sound} out=- streams=2", 2, "one stream"),
    ("generate checkpoint={sound} takes=0", 2, "give a value of at least 1"),
    ("generate checkpoint={sound} takes=2 streams=2", 2, "takes=2 streams=2: give one of the two"),
    ("generate checkpoint={sound} takes=2 seconds=0.1", 2, "too short to compare"),
    ("evaluate checkpoint={sound} data.kind=text data.path=stereo.wav", 2, "reads sound"),
    ("evaluate checkpoint={run} data.kind=audio data.path=stereo.wav", 2, "reads text"),
    ("compare", 2, "runs=runs: no run there"),
    ("compare runs=none/*", 2, "runs=none/*: no run there"),
    ("compare runs=runs runs=more", 2, "runs= is there twice: give their folder, or a glob"),
    ("doctor data.kind=text", 2, "no data: give data.path"),
    ("doctor run_dir={run} data.path=text.txt", 2, "or run_dir to look at a run"),
    ("report", 2, "give run_dir=FOLDER"),
    ("export checkpoint={run}", 2, "no out: give out=FILE.html for a page that runs"),
    ("export checkpoint={run} out=a.onnx", 2, "out=a.onnx: give out=FILE.html for a page"),
    ("recipe=shakespeare data.path=text.txt model.ends=true", 2, "each document is a file"),
    ("recipe=shakespeare data.path=text.txt data.document=line data.kind=bytes", 2, "as bytes"),
    ("recipe=shakespeare data.dataset=none", 2, "no data set named none"),
    ("recipe=shakespeare data.dataset=none data.path=text.txt", 2, "no data set named none"),
    ("recipe=shakespeare data.path=text.txt data.kind=hf", 2, "that is gone: the library"),
    ("play host=0.0.0.0 checkpoint=shakespeare", 2, "ssh -L"),
    # Data that are not there, or none.
    ("recipe=shakespeare data.path=none", 3, "none: cannot be read: no such file"),
    ("recipe=shakespeare data.path=empty.txt", 3, "empty"),
    ("recipe=shakespeare data.path=short.txt", 3, "give at least "),
    (
        "recipe=shakespeare data.path=text.txt data.test=*",
        3,
        "in the training part: 0 symbols, and",
    ),
    ("recipe=shakespeare data.path=binary.txt", 3, "byte 3 (0xff) is not utf-8"),
    ("recipe=shakespeare data.path=text.txt data.document=%%", 3, "=%% cuts nothing in text.txt"),
    ("generate checkpoint=https://x.org/a.safetensors", 4, "a file (no URL)"),
    ("recipe=my_sound prompt_audio=none", 3, "none: cannot be read: no such file"),
    ("generate checkpoint=a prompt_file=none", 3, "prompt_file=none: cannot be read: no such"),
    ("generate checkpoint=a prompt_file=/dev/zero", 3, "/dev/zero: cannot be read: it is no file"),
    ("generate checkpoint={sound} prompt_audio=text.wav", 3, "text.wav"),
    ("evaluate checkpoint=a data.path=none", 3, "none: cannot be read: no such file"),
    ("doctor data.path=none", 3, "none: cannot be read: no such file"),
    # Checkpoints and runs that are not there, or none.
    ("recipe=shakespeare init_from=none", 4, "none: no such checkpoint"),
    ("generate checkpoint=none", 4, "none: no such checkpoint"),
    ("score checkpoint=/dev/null", 4, "/dev/null: no such checkpoint"),
    ("inspect checkpoint=.", 4, ".: no checkpoint in this folder"),
    ("play checkpoint=. port=0", 4, ".: no checkpoint in this folder"),
    ("doctor run_dir=.", 4, "no run in this folder"),
    ("report run_dir=.", 4, "no run in this folder"),
    ("report run_dir=none", 4, "run_dir=none: no such folder"),
    ("report run_dir=text.txt", 4, "no such folder"),
    ("report run_dir={run}/..", 4, "it holds the runs run"),
    # A device or memory that is not there.
    (f"{PERSISTENT} model.hidden_size=64", 5, "needs a GPU of capability 8.0 or newer"),
    (f"{PERSISTENT} model.hidden_size=100", 2, "a multiple of 64 up to 1024, not lstm with 100"),
    (f"{PERSISTENT} model.hidden_size=1088", 2, "not lstm with 1088"),
    (f"{PERSISTENT} model.hidden_size=64 model.cell=gru", 2, "not gru with 64"),
    ("recipe=shakespeare data.path=text.txt model.hidden_size=300000", 5, "needs at least"),
    ("generate checkpoint={run} streams=1000000000", 2, "streams=1000000000"),
    # Places where nothing can be written.
    ("recipe=shakespeare data.path=text.txt run_dir=text.txt", 6, "is a file"),
    ("recipe=shakespeare data.path=text.txt run_dir=text.txt/run", 6, "is a file"),
    ("recipe=shakespeare data.path=text.txt run_dir=/proc/nowhere/run", 6, "/proc/nowhere/run"),
    ("generate checkpoint=a out=a", 6, "out=a is what is read: give another name"),
    ("generate checkpoint=a out=empty.txt", 6, "empty.txt exists: give another out"),
    ("score checkpoint={run} out=nowhere/a.json", 6, "there is no folder"),
    ("score checkpoint={run} out=nowhere/", 2, "out=nowhere/: give the name of a file"),
    ("recipe=shakespeare data.path=none run_dir={run}", 6, "holds a run"),
    ("recipe=shakespeare data.path=none run_dir={long}", 6, "run_dir=aaa"),
]
"""Command lines, their exit code, and what is told."""


@pytest.fixture(scope="module")
def place(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files that fit nothing, a text, and the checkpoint `a`."""
    folder = tmp_path_factory.mktemp("refused")
    shutil.copyfile(trained / "checkpoints" / "best.safetensors", folder / "a")
    for name in ("text.txt", "text.wav"):
        (folder / name).write_text(SENTENCE * 40)
    (folder / "empty.txt").touch()
    (folder / "short.txt").write_text("abcdefgh" * 2)
    (folder / "binary.txt").write_bytes(b"abc\xff" * 100)
    soundfile.write(folder / "stereo.wav", np.zeros((RATE, 2)), RATE)
    return folder


@pytest.mark.parametrize(("words", "code", "told"), REFUSED)
def test_what_cannot_be_done_is_told_and_leaves_nothing(
    words: str, code: int, told: str,
    place: Path, trained: Path, learnt: Path, run: Run, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(place)
    before = {*place.rglob("*")}
    given = {"run": trained, "sound": learnt / "run", "long": "a" * 300}
    said = run.fails(code, *(word.format(**given) for word in words.split()))
    *_, last = said.splitlines()
    assert last.startswith("seqkit: error:")
    assert told.format(**given) in last
    assert {*place.rglob("*")} == before


def test_a_folder_that_holds_a_run_is_not_overwritten(
    run: Run, tiny: list[str], tmp_path: Path
) -> None:
    arguments = [*tiny, "train.max_steps=4"]
    run.ok(*arguments)
    before = weights(tmp_path / "a")["head.weight"]
    assert "resume=auto" in run.fails(6, *arguments, "seed=5")
    assert np.array_equal(weights(tmp_path / "a")["head.weight"], before)
    run.ok(*arguments, "seed=5", "overwrite=true")
    assert not np.array_equal(weights(tmp_path / "a")["head.weight"], before)


def test_a_divergence_exits_with_7(run: Run, tiny: list[str], tmp_path: Path) -> None:
    wild = ("optimizer.lr=1e38", "train.clip_norm=0", "train.max_steps=50")
    result = run.fails(7, *tiny, *wild)
    assert "optimizer.lr" in result
    found = re.search(r"at step (\d+): the training diverged", result)
    assert found
    assert int(found[1]) <= 10
    assert ": diverged</title>" in (tmp_path / "a" / "report.html").read_text()
