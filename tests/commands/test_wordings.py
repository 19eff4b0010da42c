"""What a newcomer is told names what was given, what is needed and what to do."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.conftest import SENTENCE, TINY, Run, environment
from tests.warm_python import python

NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 8000)


def test_too_little_data_says_how_much_is_needed_and_there(run: Run, tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("abcdefgh" * 2)
    soundfile.write(tmp_path / "short.wav", NOISE[:200], 8000)
    text = run(*TINY, f"data.path={tmp_path / 'short.txt'}", "train.sequence_length=64")
    assert text.code == 3
    assert "too little data: 16 symbols, and recipe=" in text.err
    assert "with train.sequence_length=64 needs more: give at least 143 symbols\n" in text.err
    sound = run("recipe=wav_generation", f"data.path={tmp_path / 'short.wav'}")
    assert sound.code == 3
    assert "needs more: give at least 0.036 s\n" in sound.err
    for lanes, count in (("1 lane", 2), ("2 lanes", 4)):
        (tmp_path / "short.txt").write_text(SENTENCE * count)
        words = (f"data.path={tmp_path / 'short.txt'}", f"run_dir={tmp_path / lanes}")
        little = run(*TINY, *words, "train.max_steps=1")
        assert little.code == 0, little.err
        assert f"the data is short: {lanes} in place of train.batch_size=4\n" in little.err


def test_a_moment_of_sound_is_not_trained_on_for_minutes(run: Run, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", NOISE[:4000], 8000)
    data, folder = f"data.path={tmp_path / 'a.wav'}", tmp_path / "run"
    for words in (["recipe=my_sound", f"run_dir={folder}"], ["doctor"]):
        refused = run(*words, data, "device=cpu")
        assert refused.code == 3
        told = "from 0.5 s of sound nothing can be learnt: give at least 1 s; 10 s is the least"
        assert told in refused.err
    assert not folder.exists()


def test_several_paths_in_one_are_named_as_they_were_given(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        Path(name).write_text("text\n" * 100)
    refused = run(*TINY, "data.path=a,b")
    assert refused.code == 3
    assert "data.path=a,b: no such file: for several, give data.path=a data.path=b\n" in refused.err


@pytest.mark.parametrize("words", [["=3"], ["generate", "=3"], ["--multirun", "=3"]])
def test_a_value_without_a_key(words: list[str], run: Run) -> None:
    refused = run(*words)
    assert refused.code == 2
    assert refused.err == "seqkit: error: '=3' has no key before the = sign: give key=value\n"


def test_a_run_or_a_file_in_the_place_of_a_command(
    run: Run, trained: Path, text_file: Path
) -> None:
    refused = run(trained)
    assert refused.code == 2
    assert f"there is a run of that name: generate checkpoint={trained} lets it" in refused.err
    assert f"give data.path={text_file} and a recipe" in run(text_file).err


def test_a_sweep_of_one_run_has_no_keys_in_its_heading(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    words = [*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 's'}", "train.max_steps=1"]
    done = run("--multirun", *words)
    assert done.code == 0, done.err
    assert f"=== multirun: run 1 of 1, in {tmp_path / 's' / '0'} ===\n" in done.err


def test_a_checkpoint_of_text_refuses_sound_without_naming_a_recipe(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    soundfile.write(tmp_path / "a.wav", NOISE, 8000)
    for command in ("evaluate", "score"):
        refused = run(command, f"checkpoint={trained}", f"data.path={tmp_path / 'a.wav'}")
        assert refused.code == 3
        assert refused.err.endswith("a.wav is sound, and this checkpoint reads text\n")


def test_silence_and_a_device_are_refused_in_words(run: Run, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", 0 * NOISE, 8000)
    silent = run("recipe=wav_generation", f"data.path={tmp_path / 'a.wav'}")
    assert silent.err.endswith("give a recording in which at least 20 ms can be heard\n")
    with Path("/dev/zero").open("rb") as zeros:
        device = subprocess.run(
            [python(), "-m", "seqkit", *TINY, "data.path=-"],
            cwd=tmp_path,
            env=environment(),
            stdin=zeros,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert device.returncode == 3
    assert b"stdin is a terminal or a device: write to it" in device.stderr


def test_keys_of_the_data_are_told_of_those_that_they_concern(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    soundfile.write(tmp_path / "a.wav", NOISE, 8000)
    small = [*TINY[1:], "train.max_steps=1", "quiet=true"]
    for name, *words in (
        ["a", "recipe=shakespeare", f"data.path={text_file}"],
        ["b", "recipe=shakespeare", f"data.path={text_file}", "data.newline=lf"],
        ["c", "recipe=wav_generation", f"data.path={tmp_path / 'a.wav'}", "data.sample_rate=4000"],
        ["d", "recipe=wav_generation", f"data.path={tmp_path / 'a.wav'}"],
    ):
        done = run(*words, *small, f"run_dir={tmp_path / 'runs' / name}")
        assert done.code == 0, done.err
    shown = run("compare", f"runs={tmp_path / 'runs'}").out.decode()
    headings = [line for line in shown.splitlines() if line.startswith("data: ")]
    assert len(headings) == 4
    for heading in headings:
        assert ("data.newline=" in heading) == ("data.kind=text" in heading)
        assert ("data.sample_rate=" in heading) == ("data.kind=audio" in heading)


@pytest.mark.parametrize(("steps", "rate", "badly"), [(1, 0.5, True), (150, 0.02, False)])
def test_a_model_of_text_that_has_not_learnt_is_told_so(
    steps: int, rate: float, badly: bool, run: Run, text_file: Path, tmp_path: Path
) -> None:
    words = (*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'a'}", "train.average=0")
    done = run(*words, f"train.max_steps={steps}", f"optimizer.lr={rate}")
    assert done.code == 0, done.err
    assert ("on the validation part the model is worse than " in done.err) == badly
    advice = "It was too short to tell more: give it more steps or more time."
    assert (advice in done.err) == badly
