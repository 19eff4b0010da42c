"""Labels as a user meets them: trained, asked for, scored, fine-tuned, from Python."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

import seqkit
from tests.conftest import SMALL, Run, saved

WORDS = {"sea": "wave gull sail ", "wood": "oak owl fox "}
LABELLED = ("recipe=shakespeare", "data.label=folder", "model.input=embedding", *SMALL)


def texts(folder: Path, **words: str) -> Path:
    for name, said in words.items():
        (folder / name).mkdir(parents=True)
        for number in range(3):
            (folder / name / f"{number}.txt").write_text(said * 60)
    return folder


@pytest.fixture
def learnt(run: Run, tmp_path: Path) -> Path:
    folder = texts(tmp_path / "texts", **WORDS)
    words = ["train.max_steps=60", "train.validate_every=10", f"run_dir={tmp_path / 'run'}"]
    done = run.ok(*LABELLED, f"data.path={folder}", *words)
    assert "labels (data.label): label: sea, wood" in done.err
    shown = [line for line in done.err.splitlines() if line.startswith("label=")]
    assert {*shown} == {"label=sea", "label=wood"}
    return tmp_path / "run"


def test_it_says_what_it_is_asked_for(run: Run, learnt: Path) -> None:
    for name, other in (("sea", "wood"), ("wood", "sea")):
        ask = ("generate", f"checkpoint={learnt}", "seed=1", "length=200", f"label={name}")
        own = run(*ask).out.decode()
        letters = {*WORDS[name]} - {*WORDS[other]}
        others = {*WORDS[other]} - {*WORDS[name]}
        assert sum(map(own.count, letters)) > 3 * sum(map(own.count, others))
        model = seqkit.load(learnt)
        assert model.labels == {"label": ["sea", "wood"]}
        assert model.generate(label=name, seed=1, length=200) == own
    refused = run("generate", f"checkpoint={learnt}", "label=see")
    assert refused.code == 2 and "did you mean sea? It knows label: sea, wood" in refused.err


def test_it_is_scored_with_the_labels_of_its_data(run: Run, learnt: Path, tmp_path: Path) -> None:
    right = run.json("evaluate", f"checkpoint={learnt}")["loss"]
    run.ok("score", f"checkpoint={learnt}", f"out={tmp_path / 's.jsonl'}")
    folder = texts(tmp_path / "swapped", sea=WORDS["wood"], wood=WORDS["sea"])
    path = f"data.path={folder}"
    assert (
        run.json("evaluate", f"checkpoint={learnt}", path, "data.label=folder")["loss"]
        > right + 0.1
    )
    own = f"data.path={tmp_path / 'texts'}"
    assert run.json("evaluate", f"checkpoint={learnt}", own)["loss"] == right
    part = f"data.path={tmp_path / 'texts' / 'sea'}"
    told = run.ok("evaluate", f"checkpoint={learnt}", part).err
    assert f"the checkpoint learnt from {tmp_path / 'texts'}" in told
    texts(folder, hill="oak ")
    refused = run("evaluate", f"checkpoint={learnt}", path, "data.label=folder")
    assert refused.code == 3 and "does not know the label hill" in refused.err


def test_fine_tuning_goes_on_with_the_labels_that_were_learnt(
    run: Run, learnt: Path, tmp_path: Path
) -> None:
    folder = texts(tmp_path / "again", **WORDS)
    words = ["train.max_steps=2", f"init_from={learnt}", f"data.path={folder}"]
    run.ok(*LABELLED, *words, f"run_dir={tmp_path / 'tuned'}")
    assert saved(tmp_path / "tuned").labels == saved(learnt).labels
    told = run.ok(LABELLED[0], *SMALL, *words, f"run_dir={tmp_path / 'without'}").err
    assert "is told no label of these data; it knows label: sea, wood" in told
    assert "label=none" in run.ok("generate", f"checkpoint={tmp_path / 'without'}").err
    texts(folder, air="fog ")
    said = "the checkpoint does not know the label air. It knows label: sea, wood: rename"
    assert said in run.fails(3, *LABELLED, *words, f"run_dir={tmp_path / 'more'}")


def test_a_label_needs_no_other_key(run: Run, tmp_path: Path) -> None:
    folder = texts(tmp_path / "texts", **WORDS)
    words = [f"data.path={folder}", "data.label=folder", "optimizer.lr=0.02", *SMALL]
    plain, explicit = tmp_path / "plain", tmp_path / "explicit"
    run.ok("recipe=shakespeare", *words, "train.max_steps=3", f"run_dir={plain}")
    run.ok("recipe=shakespeare", *words, "train.max_steps=6", f"run_dir={plain}", "resume=auto")
    words += ["model.input=embedding", "train.max_steps=6", f"run_dir={explicit}"]
    run.ok("recipe=shakespeare", *words)
    first, second = saved(plain), saved(explicit)
    assert first.model == second.model and first.model.input == "embedding"
    assert all(np.array_equal(first.weights[name], second.weights[name]) for name in first.weights)


def test_a_network_gets_no_labels_later(run: Run, tmp_path: Path) -> None:
    folder = texts(tmp_path / "texts", **WORDS)
    words = [f"data.path={folder}", "train.max_steps=2", *SMALL]
    bare = tmp_path / "bare"
    (tmp_path / "mine.yaml").write_text("defaults: [shakespeare]\nlabel: austen\n")
    own = ("--config-dir", str(tmp_path), "recipe=mine", f"run_dir={bare}")
    assert "learnt no labels" in run.fails(2, *own, *words)
    assert not bare.exists()  # before the first step
    run.ok("recipe=shakespeare", *words, f"run_dir={bare}")
    given = (f"data.path={folder}", "data.label=folder")
    assert "learnt no labels" in run.fails(2, *LABELLED, *given, f"init_from={bare}")
    for command in ("score", "evaluate"):
        assert "learnt no labels" in run.fails(2, command, f"checkpoint={bare}", *given)


@pytest.mark.thorough
def test_sound_with_labels_ends_with_its_document(run: Run, tmp_path: Path) -> None:
    rate, time = 4000, np.arange(1200) / 4000
    (tmp_path / "notes").mkdir()
    for number in range(24):
        for name, hertz in (("low", 200), ("high", 900)):
            tone = np.sin(2 * np.pi * hertz * time + number)
            wave = tone * np.geomspace(0.9, 0.01, len(time))  # a pluck, which fades
            soundfile.write(tmp_path / "notes" / f"{name}_{number}.wav", wave, rate)
    words = ["data.label=(low|high)", "model.ends=true", *SMALL]
    words += ["train.max_steps=30", "train.batch_size=8", f"run_dir={tmp_path / 'run'}"]
    words += ["model.input=embedding", "train.sequence_length=64"]
    run.ok("recipe=wav_generation", f"data.path={tmp_path / 'notes'}", *words)
    out = tmp_path / "a.wav"
    ask = ("generate", f"checkpoint={tmp_path / 'run'}", "label=low", "seed=1", "streams=3")
    run.ok(*ask, f"out={out}")
    lengths = [soundfile.info(tmp_path / f"a_{number}.wav").duration for number in (1, 2, 3)]
    assert np.median(lengths) == pytest.approx(0.3, abs=0.06)
    run.ok(*ask, f"out={out}", "seconds=1", "overwrite=true")
    assert soundfile.info(tmp_path / "a_1.wav").duration == 1
