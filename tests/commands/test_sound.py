"""Sound as a user makes it: a model of a tiny étude trained by the real program."""

import json
import signal
import subprocess
import time
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.api import likeness
from seqkit.data.datasets import etude
from seqkit.data.sound import reader
from tests.conftest import SENTENCE, Run, environment, process, weights
from tests.conftest import TINY as TEXT
from tests.pitch import on_scale
from tests.warm_python import python

RATE = 4000
TINY = (
    *("recipe=wav_generation", f"data.sample_rate={RATE}", "model.hidden_size=128"),
    *("train.batch_size=16", "train.sequence_length=64", "optimizer.lr=0.02"),
    *("train.max_steps=800", "train.validate_every=400", "seconds=1", "device=cpu"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with étude.wav, and in `run` the run that learnt it."""
    folder = tmp_path_factory.mktemp("sound")
    notes = etude.compose(64)
    etude.write(folder / "étude.wav", etude.render(notes, 16000), 16000)
    done = process(*TINY, "data.path=étude.wav", "run_dir=run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "run/samples/final.wav\n"
    _, finished, closing = done.stderr.partition("finished: ")
    assert finished
    assert "making the closing sample, 1 s of sound\n" in closing
    return folder


def share(*files: Path) -> tuple[float, int]:
    sounds = [soundfile.read(file, dtype="float32") for file in files]
    (rate,) = {rate for _, rate in sounds}
    return on_scale(np.concatenate([samples for samples, _ in sounds]), rate, etude.SCALE)


@pytest.mark.thorough
def test_the_pitches_of_the_etude_are_heard(folder: Path, run: Run, tmp_path: Path) -> None:
    made = [tmp_path / f"made_{number}.wav" for number in range(1, 5)]
    sampling = ("seconds=3", "streams=4", "temperature=1", "seed=7", f"out={tmp_path / 'made.wav'}")
    result = run("generate", f"checkpoint={folder / 'run'}", *sampling, "device=cpu")
    assert result.code == 0, result.err
    assert [soundfile.info(file).frames for file in made] == [3 * RATE] * 4
    frames, notes = share(*made)
    assert frames > 0.5
    assert notes >= 3
    original, every = share(folder / "étude.wav")
    assert (original > 0.8, every) == (True, 6)
    untrained = tmp_path / "untrained"
    few = ("train.max_steps=1", "optimizer.lr=1e-9", "train.validate_every=0")
    result = run(*TINY, f"data.path={folder / 'étude.wav'}", f"run_dir={untrained}", *few)
    assert result.code == 0, result.err
    result = run("generate", f"checkpoint={untrained}", *sampling, "device=cpu", "overwrite=true")
    frames, notes = share(*made)
    assert frames < 0.2
    assert notes < 3


def test_a_run_leaves_sounds_and_pictures(folder: Path) -> None:
    names = sorted(file.name for file in (folder / "run" / "samples").iterdir())
    stems = ("final", "step_0000400", "step_0000800")
    pairs = [f"{stem}{suffix}" for stem in stems for suffix in (".png", ".wav")]
    assert names == ["data.wav", *pairs]
    assert soundfile.info(folder / "run" / "samples" / "data.wav").frames == RATE
    report = (folder / "run" / "report.html").read_text()
    assert report.count("<audio") == 4  # the data's own, two of the training, the closing sample
    assert "It beats" in report
    assert "FLAC" in report


def test_files_are_as_long_as_asked_and_repeat(folder: Path, run: Run, tmp_path: Path) -> None:
    sounds = []
    for name, amount in (
        ("a.wav", "seconds=0.5"),
        ("b.flac", "length=2000"),
        ("c.ogg", "length=2000"),
    ):
        result = run(
            "generate", f"checkpoint={folder / 'run'}", amount, "seed=1", f"out={tmp_path / name}"
        )
        assert (result.code, result.out) == (0, b""), result.err
        assert "x real time" in result.err
        sounds.append(reader.read_whole(tmp_path / name))
    assert [(sound.size, rate) for sound, rate in sounds] == [(2000, RATE)] * 3
    np.testing.assert_allclose(sounds[0][0], sounds[1][0], atol=1e-4)
    assert np.corrcoef(sounds[0][0], sounds[2][0])[0, 1] > 0.9
    refused = run("generate", f"checkpoint={folder / 'run'}", f"out={tmp_path / 'a.wav'}")
    assert refused.code == 6
    assert "overwrite=true" in refused.err


def test_without_out_a_new_file_is_named(folder: Path, run: Run) -> None:
    best = folder / "run" / "checkpoints" / "best.safetensors"
    made = []
    for streams in (1, 2):
        result = run("generate", f"checkpoint={best}", "length=400", f"streams={streams}", "seed=1")
        made += [Path(line) for line in result.out.decode().splitlines()]
    assert [file.name for file in made] == [
        "generated_1.wav",
        "generated_2_1.wav",
        "generated_2_2.wav",
    ]
    assert {file.parent for file in made} == {folder / "run" / "samples"}
    assert soundfile.read(made[0])[0].tolist() == soundfile.read(made[1])[0].tolist()
    assert soundfile.read(made[0])[0].tolist() != soundfile.read(made[2])[0].tolist()
    for file in made:
        file.unlink()


def test_a_recording_is_continued_after_its_own_sound(
    folder: Path, run: Run, tmp_path: Path
) -> None:
    prompt = tmp_path / "start, it's.wav"
    tone = 0.3 * np.sin(2 * np.pi * 300 * np.arange(8000) / 16000)
    soundfile.write(prompt, np.stack([tone, tone], 1), 16000)
    out = tmp_path / "out.wav"
    result = run(
        "generate", f"checkpoint={folder / 'run'}", f"prompt_audio={prompt}", "length=300",
        f"out={out}",
    )  # fmt: skip
    assert result.code == 0, result.err
    sound, _ = reader.read_whole(out)
    assert sound.size == 2000 + 300
    expected = 0.3 * np.sin(2 * np.pi * 300 * np.arange(2000) / RATE)
    assert np.abs(sound[:1900] - expected[:1900])[100:].max() < 0.01


def test_stdout_takes_a_wav_of_open_length(folder: Path, tmp_path: Path) -> None:
    command = ["generate", f"checkpoint={folder / 'run'}", "length=1000", "out=-", "seed=4"]
    done = subprocess.run(
        [python(), "-m", "seqkit", *command],
        env=environment(), capture_output=True, check=True,
    )  # fmt: skip
    (tmp_path / "a.wav").write_bytes(done.stdout)
    assert b"x real time" in done.stderr
    assert len(done.stdout) == 44 + 2000
    assert reader.read_whole(tmp_path / "a.wav")[0].size == 1000


@pytest.mark.parametrize(
    ("sent", "code", "kind"),
    [(signal.SIGINT, 130, "wav"), (signal.SIGTERM, 75, "flac"), (signal.SIGHUP, 75, "ogg")],
)
def test_interrupted_sound_is_whole(
    sent: signal.Signals, code: int, kind: str, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"long.{kind}"
    command = ["generate", f"checkpoint={folder / 'run'}", "seconds=3000", f"out={out}"]
    with subprocess.Popen(
        [python(), "-m", "seqkit", *command],
        env=environment(), stderr=subprocess.PIPE, text=True,
    ) as making:  # fmt: skip
        try:
            assert making.stderr is not None
            while not (out.exists() and out.stat().st_size > 4096):  # some of it is written
                assert making.poll() is None
                time.sleep(0.02)
            if kind == "wav":
                with wave.open(str(out)) as growing:  # whole while it is made
                    assert growing.getnframes() > 0
            making.send_signal(sent)
            making.send_signal(sent)  # more of them disturb nothing
            said = making.communicate(timeout=600)[1]
            assert making.returncode == code
            assert "Traceback" not in said
        finally:
            making.kill()
    sound, _ = reader.read_whole(out)
    assert 0 < sound.size < 3000 * RATE
    assert soundfile.info(out).frames == sound.size
    assert np.abs(sound).max() > 0.01


def test_evaluation_compares_with_baselines(folder: Path, run: Run) -> None:
    result = run("evaluate", f"checkpoint={folder / 'run'}", "json=true", "device=cpu")
    assert result.code == 0, result.err
    scores = json.loads(result.out)
    summary = json.loads((folder / "run" / "summary.json").read_text())
    assert scores["loss"] == pytest.approx(summary["best_validation_loss"], abs=0.01)
    bits = [scores[f"{name}_bits"] for name in ("flac", "context", "histogram")]
    assert scores["bits_per_symbol"] < min(bits)
    assert max(bits) < 8
    assert 30 < scores["quantiser_snr_db"] < 45
    shown = run("evaluate", f"checkpoint={folder / 'run'}", "device=cpu").out.decode()
    assert "flac_bits" in shown
    test = run("evaluate", f"checkpoint={folder / 'run'}", "part=test")
    assert test.code == 3
    assert "without a test part" in test.err


def test_what_does_not_fit_is_refused(
    folder: Path, trained: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "text.wav").write_text(SENTENCE)
    soundfile.write(tmp_path / "a.wav", np.zeros(4000), RATE)
    sound, text = f"checkpoint={folder / 'run'}", f"checkpoint={trained}"
    for code, said, arguments in [
        (2, "prompt_audio", ("generate", sound, "prompt=hello")),
        (2, "writes text", ("generate", text, f"prompt_audio={tmp_path / 'a.wav'}")),
        (2, "give length", ("generate", text, "seconds=1")),
        (2, "not both", ("generate", sound, "seconds=1", "length=5")),
        (2, "less than one sample", ("generate", sound, "seconds=0.0001")),
        (2, ".flac", ("generate", sound, f"out={tmp_path / 'a.m4a'}")),
        (2, "one stream", ("generate", sound, "out=-", "streams=2")),
        (2, "out=NAME.flac", ("generate", sound, "length=2147483647")),
        (2, "out=NAME.flac", ("generate", sound, "length=2147483647", f"out={tmp_path}/a_.wav")),
        (3, "text.wav", ("generate", sound, f"prompt_audio={tmp_path / 'text.wav'}")),
        (3, "text.wav", ("evaluate", sound, f"data.path={tmp_path / 'text.wav'}")),
        (3, "silent", ("evaluate", sound, f"data.path={tmp_path / 'a.wav'}")),
        (
            2,
            "reads sound",
            ("evaluate", sound, "data.kind=text", f"data.path={tmp_path / 'a.wav'}"),
        ),
        (2, "reads text", ("evaluate", text, "data.kind=audio", f"data.path={tmp_path / 'a.wav'}")),
        (3, "text.wav", (*TINY, f"data.path={tmp_path / 'text.wav'}", f"run_dir={tmp_path / 'r'}")),
        (2, "data.channel=left", (*TINY, "data.channel=left", f"run_dir={tmp_path / 'r'}")),
        (2, "part=test", ("evaluate", sound, "part=test", f"data.path={tmp_path / 'a.wav'}")),
    ]:
        result = run(*arguments)
        assert (result.code, result.out) == (code, b""), (arguments, result.err)
        assert said in result.err
        assert "Traceback" not in result.err
    assert not (tmp_path / "r").exists()
    assert not list((folder / "run" / "samples").glob("generated*"))


@pytest.mark.thorough
def test_the_spectral_measure_ranks_etude_trained_untrained_and_noise(
    folder: Path, run: Run, tmp_path: Path
) -> None:
    untrained = tmp_path / "untrained"
    few = ("train.max_steps=1", "optimizer.lr=1e-9", "train.validate_every=0")
    result = run(*TINY, f"data.path={folder / 'étude.wav'}", f"run_dir={untrained}", *few)
    assert result.code == 0, result.err
    words = ("protocol=spectral", "seconds=2", "json=true", "device=cpu")
    found = []
    for place in (folder / "run", untrained):
        result = run("evaluate", f"checkpoint={place}", *words)
        assert result.code == 0, result.err
        found.append(json.loads(result.out))
    trained, raw = found
    assert trained["spectral_halves"] < trained["spectral"] < raw["spectral"]
    assert trained["spectral"] < trained["spectral_shuffled"] < 1.1
    assert trained["pitch"] > raw["pitch"]
    assert (trained["seconds"], trained["seed"], len(trained["spectral_sounds"])) == (2, 0, 3)
    again = run("evaluate", f"checkpoint={folder / 'run'}", *words[:2], *words[3:])
    assert f"spectral         {trained['spectral']:.4f}" in again.out.decode()
    refused = run("evaluate", f"checkpoint={folder / 'run'}", *words, "seconds=0.05")
    assert (refused.code, "seconds is too small" in refused.err) == (3, True)


def test_the_spectral_measure_needs_a_recording_but_no_validation_part(
    folder: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("train.max_steps=1", "data.split=[1,0,0]", f"run_dir={tmp_path / 'run'}")
    result = run(*TINY, f"data.path={folder / 'étude.wav'}", *words)
    assert result.code == 0, result.err
    spectral = (f"checkpoint={tmp_path / 'run'}", "protocol=spectral", "seconds=1", "device=cpu")
    result = run("evaluate", *spectral, "json=true")
    assert result.code == 0, result.err
    assert json.loads(result.out)["spectral"] > 0
    soundfile.write(tmp_path / "short.wav", 0.5 * np.sin(np.arange(RATE // 5)), RATE)
    monkeypatch.setattr(likeness, "continue_prompt", None)  # nothing is made for it
    refused = run("evaluate", *spectral, f"data.path={tmp_path / 'short.wav'}")
    assert refused.code == 3
    assert "nothing to compare a sound with: a recording of at least 0.224 s" in refused.err


def test_training_tells_how_much_it_sounds_like_the_recording(folder: Path) -> None:
    log = (folder / "run" / "log").read_text()
    assert log.count("spectral measure 0.") + log.count("spectral measure 1.") == 2


@pytest.mark.thorough
def test_copies_are_learnt_from_and_never_validated_on_and_a_run_resumes_with_them(
    folder: Path, run: Run, tmp_path: Path
) -> None:
    short = ("train.max_steps=6", "train.validate_every=3", "train.deterministic=true")
    steady = ("optimizer.schedule=constant", "model.hidden_size=16")
    words = (*TINY, f"data.path={folder / 'étude.wav'}", *short, *steady)
    for name, more in (("whole", ()), ("parts", ("train.max_steps=3",)), ("none", ())):
        count = "data.copies=0" if name == "none" else "data.copies=2"
        result = run(*words, count, *more, f"run_dir={tmp_path / name}")
        assert result.code == 0, result.err
        told = "of sound to learn from: 2 copies beside it, up to 3 semitones" in result.err
        assert told == (name != "none")
    result = run(f"run_dir={tmp_path / 'parts'}", "resume=auto", "train.max_steps=6", "device=cpu")
    assert result.code == 0, result.err
    whole, parts, none = (weights(tmp_path / name) for name in ("whole", "parts", "none"))
    assert all(bool((whole[name] == parts[name]).all()) for name in whole)
    assert not all(bool((whole[name] == none[name]).all()) for name in whole)
    result = run("evaluate", f"checkpoint={tmp_path / 'whole'}", "json=true", "device=cpu")
    summary = json.loads((tmp_path / "whole" / "summary.json").read_text())
    best = summary["best_validation_loss"]
    assert json.loads(result.out)["loss"] == pytest.approx(best, abs=2e-3)


def test_only_sound_is_copied_and_trimmed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE * 20)
    words = (f"data.path={tmp_path / 'a.txt'}", f"run_dir={tmp_path / 'run'}")
    for key in ("data.copies=2", "data.trim_silence=40"):
        result = run(*TEXT, *words, key)
        assert (result.code, f"{key} is for sound, and this is text" in result.err) == (2, True)
    assert not (tmp_path / "run" / "config.yaml").exists()


def test_a_model_that_is_worse_than_flac_is_told_so_and_why(run: Run, tmp_path: Path) -> None:
    tone = 0.5 * np.sin(2 * np.pi * 220 * np.arange(RATE) / RATE)
    soundfile.write(tmp_path / "tone.wav", tone, RATE)
    words = (*TINY, f"data.path={tmp_path / 'tone.wav'}", "model.hidden_size=16", "seconds=0.1")
    few = run(*words, "train.max_steps=2", f"run_dir={tmp_path / 'few'}")
    assert "worse than" in few.err, few.err
    assert "not learnt enough yet: give it more time (train.max_minutes)\n" in few.err
    assert few.code == 0


def test_silence_is_left_out_of_what_is_learnt_from(folder: Path, run: Run, tmp_path: Path) -> None:
    samples, _ = soundfile.read(folder / "étude.wav")
    quiet = np.zeros(4 * 16000)
    soundfile.write(tmp_path / "a.wav", np.concatenate([quiet, samples[: 8 * 16000]]), 16000)
    words = (*TINY, f"data.path={tmp_path / 'a.wav'}", "model.hidden_size=16", "train.max_steps=2")
    result = run(*words, "data.trim_silence=40", f"run_dir={tmp_path / 'run'}")
    assert result.code == 0, result.err
    assert "0:07 of sound to learn from: 4.0 s of silence left out" in result.err


def test_my_sound_learns_from_a_recording_and_ends_with_a_sample(
    folder: Path, run: Run, tmp_path: Path
) -> None:
    words = ("recipe=my_sound", f"data.path={folder / 'étude.wav'}", f"run_dir={tmp_path / 'run'}")
    small = ("model.hidden_size=16", "train.max_minutes=0.02", "seconds=0.2", "device=cpu")
    result = run(*words, *small)
    assert result.code == 0, result.err
    assert " copies beside it, up to 3 semitones higher or lower (data.copies)" in result.err
    assert result.out.decode() == f"{tmp_path / 'run' / 'samples' / 'final.wav'}\n"
    assert soundfile.info(result.out.decode().strip()).frames == 1600


def test_the_closing_sample_of_a_short_training_ends_early(
    folder: Path, run: Run, tmp_path: Path
) -> None:
    words = ("recipe=my_sound", f"data.path={folder / 'étude.wav'}", f"run_dir={tmp_path / 'run'}")
    small = ("model.hidden_size=16", "train.max_minutes=0.01", "seconds=50000", "device=cpu")
    result = run(*words, *small)
    assert result.code == 0, result.err
    assert "interrupted" not in result.err
    made = soundfile.info(result.out.decode().strip()).frames
    assert 0 < made < 50_000 * 8000
    told = f"ends after {round(made / 8000, 2):g} s of 50000 s: train.max_minutes=0.01 leaves"
    assert told in result.err
