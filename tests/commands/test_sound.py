"""Sound as a user makes it: a model of a tiny étude trained by the real program."""

import signal
import time
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.sound import reader
from tests.commands.conftest import RATE
from tests.conftest import Run, spawn, summary_of
from tests.warm_python import python


def test_a_run_leaves_sounds_and_pictures(learnt: Path) -> None:
    names = sorted(file.name for file in (learnt / "run" / "samples").iterdir())
    stems = ("data", "final", "step_0000200", "step_0000400")
    assert names == [f"{stem}{suffix}" for stem in stems for suffix in (".png", ".wav")]
    assert soundfile.info(learnt / "run" / "samples" / "data.wav").frames == RATE
    report = (learnt / "run" / "report.html").read_text()
    assert report.count("<audio") == 4  # the data's own, two of the training, the closing sample


def test_files_are_as_long_as_asked_and_repeat(learnt: Path, run: Run, tmp_path: Path) -> None:
    sounds = []
    for name, amount in (
        ("a.wav", "seconds=0.5"),
        ("b.wav", "length=2000"),
    ):
        result = run(
            "generate", f"checkpoint={learnt / 'run'}", amount, "seed=1", f"out={tmp_path / name}"
        )
        assert (result.code, result.out) == (0, b""), result.err
        assert "x real time" in result.err
        sounds.append(reader.read_whole(tmp_path / name))
    assert [rate for _, rate in sounds] == [RATE] * 2
    files = [soundfile.info(tmp_path / name) for name in ("a.wav", "b.wav")]
    assert [file.frames for file in files] == [2000] * 2
    np.testing.assert_allclose(sounds[0][0], sounds[1][0], atol=1e-4)
    refused = run.fails(6, "generate", f"checkpoint={learnt / 'run'}", f"out={tmp_path / 'a.wav'}")
    assert "overwrite=true" in refused


def test_without_out_a_new_file_is_named(learnt: Path, run: Run) -> None:
    best = learnt / "run" / "checkpoints" / "best.safetensors"
    made = []
    for streams in (1, 2):
        result = run("generate", f"checkpoint={best}", "length=400", f"streams={streams}", "seed=1")
        made += [Path(line) for line in result.out.decode().splitlines()]
    assert [file.name for file in made] == [
        "generated_1.wav",
        "generated_2_1.wav",
        "generated_2_2.wav",
    ]
    assert {file.parent for file in made} == {learnt / "run" / "samples"}
    assert soundfile.read(made[0])[0].tolist() == soundfile.read(made[1])[0].tolist()
    assert soundfile.read(made[0])[0].tolist() != soundfile.read(made[2])[0].tolist()
    for file in made:
        file.unlink()


def test_a_recording_is_continued_after_its_own_sound(
    learnt: Path, run: Run, tmp_path: Path
) -> None:
    prompt = tmp_path / "start, it's.wav"
    tone = 0.3 * np.sin(2 * np.pi * 300 * np.arange(8000) / 16000)
    soundfile.write(prompt, np.stack([tone, tone], 1), 16000)
    out = tmp_path / "out.wav"
    words = ["generate", f"checkpoint={learnt / 'run'}", f"prompt_audio={prompt}", "length=300"]
    words += ["seed=1"]
    run.ok(*words, f"out={out}")
    sound, _ = reader.read_whole(out)
    run.ok(*words, "include_prompt=false", f"out={tmp_path / 'new.wav'}")
    assert reader.read_whole(tmp_path / "new.wav")[0].tolist() == sound[2000:].tolist()
    assert run.ok(*words, "include_prompt=false", "out=-").out[44:] == out.read_bytes()[4044:]
    assert sound.size == 2000 + 300
    expected = 0.3 * np.sin(2 * np.pi * 300 * np.arange(2000) / RATE)
    assert np.abs(sound[:1900] - expected[:1900])[100:].max() < 0.01


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75), (signal.SIGHUP, 75)]
)
def test_interrupted_sound_is_whole(
    sent: signal.Signals, code: int, learnt: Path, tmp_path: Path
) -> None:
    out = tmp_path / "long.wav"
    command = ["generate", f"checkpoint={learnt / 'run'}", "seconds=3000", f"out={out}"]
    with spawn([python(), "-m", "seqkit", *command]) as making:
        try:
            while not (out.exists() and out.stat().st_size > 4096):
                assert making.poll() is None
                time.sleep(0.02)
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


def test_evaluation_compares_with_guessing(learnt: Path, run: Run) -> None:
    scores = run.json("evaluate", f"checkpoint={learnt / 'run'}", "device=cpu")
    summary = summary_of(learnt / "run")
    assert scores["loss"] == pytest.approx(summary["best_validation_loss"], abs=0.01)
    assert scores["bits_per_symbol"] < scores["histogram_bits"] < 8
    shown = run("evaluate", f"checkpoint={learnt / 'run'}", "device=cpu").out.decode()
    assert "histogram_bits" in shown
    test = run.fails(3, "evaluate", f"checkpoint={learnt / 'run'}", "part=test")
    assert "without a test part" in test
