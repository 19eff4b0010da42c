"""A hint is tried before it is given: each is followed on the input that provoked it."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.conftest import SENTENCE, SMALL, Run

pytestmark = pytest.mark.thorough
GIVEN = r"give ([a-z_.]+=\S+?)(?=[,:;]? |[,:;]?$)"
HINTS = [
    # A command line, and a pattern of what it says; what is then done, by default the group of the
    # pattern: a command, keys to replace or -key to leave one out.
    ("generate --checkpoint {run}", r"give (checkpoint=\S+)", r"-{run} \1"),
    ("generate checkpoint={run} --top-k=5", r"give (top_k=5)"),
    ("generate checkpoint={run} prompt=the rain", "as in ('.*')", r"-rain \1"),
    ("generate checkpoint={run}x length=5", r"you mean (\S+)\?", r"checkpoint=\1"),
    ("generate checkpoint=Shakespeare length=5", r"you mean (\S+)\?", r"checkpoint=\1"),
    ("generate checkpoint={run}/.. length=5", "it holds the runs (run)", r"checkpoint={run}/../\1"),
    ("generate length=5", r"ready-made model, (\S+) or"),
    ("generate checkpoint={run} seconds=1", "give (length)", r"-seconds \1=5"),
    ("generate checkpoint={run} takes=2 length=5", GIVEN, r"-takes \1"),
    ("generate checkpoint={run} out=a.wav length=5", "give (a.txt)", r"out=\1"),
    ("generate checkpoint={run} out=text.txt length=5", "or (overwrite=true)", r"out=b.txt \1"),
    ("generate checkpoint={run} prompt=ö length=5", "(sample.unknown=skip)"),
    ("generate checkpoint={run} prompt=ä length=5", "(sample.unknown=nearest) replaces it by 'a'"),
    ("generate checkpoint={run} prompt_audio=stereo.wav length=5", "give (prompt) ",
     r"-prompt_audio \1=the"),
    ("generate checkpoint={run} until=document", "train it with (model.ends=true)",
     r"-generate -checkpoint -until {tiny} data.path=folder run_dir=ends \1"),
    ("generate checkpoint={sound} prompt=a", "give (prompt_audio)=FILE", r"-prompt \1=stereo.wav"),
    ("generate checkpoint={sound} seconds=1 out=- streams=2", "give out=(NAME.wav)", r"out=\1"),
    ("generate checkpoint={sound} takes=2 seconds=0.1", r"at least (seconds=[\d.]+)"),
    ("generate checkpoint={sound} until=x", "give (seconds)", r"-until \1=1"),
    ("doctor run_dir={run}", "(python -m seqkit run_dir.*)"),
    ("evaluate checkpoint={run} data.path=strange.txt", "(data.unknown=skip)"),
    ("evaluate checkpoint={run} data.path=strange.txt", "(data.unknown=nearest)"),
    ("evaluate checkpoint={run} data.path=accents.txt", "(data.unknown=nearest)"),
    ("evaluate checkpoint={sound} data.path=stereo.wav data.levels=64", GIVEN),
    ("export checkpoint={run}", r"give (out=FILE.html)"),
    ("export checkpoint={run}", r"or (out=FILE\.s\w+)"),
    ("report", "give (run_dir)", r"\1={run}"),
    ("report run_dir={run}/..", "it holds the runs (run)", r"run_dir={run}/../\1"),
    ("compare runs=none", r"as in (runs='.*?')"),
    ("compare runs={run} runs={sound}", "give their folder", "-runs runs={run}/.."),
    ("doctor data.path=latin.txt", r"(data.encoding=\w+)"),
    ("doctor data.path=koi8.txt", r"(koi8-r) \(«Ночь", r"data.encoding=\1"),
    ("doctor data.path=koi8.txt data.encoding=shift-jis", r"(koi8-r) \(«", r"data.encoding=\1"),
    ("doctor data.path=wide.txt", GIVEN),
    ("doctor data.path=mark.txt", GIVEN),
    ("doctor data.path=broken", "; (data.on_bad_file=skip)"),
    ("doctor data.path=binary data.kind=text", r"(data.kind=bytes)"),
    ("doctor data.path=text.tx", r"did you mean (\S+)\?", r"data.path=\1"),
    ("doctor data.path=quiet.wav recipe=wav_generation", "(data.gain=peak)"),
    ("doctor data.path=silent.wav recipe=wav_generation", r"(data.trim_silence=\d+)"),
    ("doctor data.path=rare.txt", "(data.max_vocabulary=.*skip) to"),
    ("doctor data.path=antiphase.wav recipe=wav_generation", "(data.channel=0)"),
    ("doctor data.path={run}", r"(doctor run_dir=\S+)", r"-doctor -data.path \1"),
    ("doctor recipe=my_sound data.path=text.txt", "(recipe=shakespeare)"),
    ("doctor recipe=shakespeare data.path=stereo.wav", "(recipe=my_sound)"),
    ("doctor recipe=wav_generation data.path=stereo.wav data.channels=2", GIVEN),
    ("doctor data.path=text.txt data.document=%%", "give (line)", r"data.document=\1"),
    ("{tiny} data.path=text.txt run_dir={run}", "(resume=auto)", r"-recipe -data.path \1"),
    ("{tiny} data.path=text.txt 'run_dir=held by'", "such as ('run_dir=.*')"),
    ("generate '--prompt=the rain' checkpoint={run}", "give ('prompt=.*?')"),
    ("{tiny} data.path=text.txt checkpoint={run}", "did you mean (init_from=.*?),",
     r"-checkpoint \1"),
    ("{tiny} data.path=text.txt data.split=1,1,1", "as in (data.split=.*)"),
    ("{tiny} data.path=text.txt model.vocabulary_size=3", "leave it out", "-model.vocabulary_size"),
    ("{tiny} data.path=text.txt model.ends=true", "give a folder", "data.path=folder"),
    ("{tiny} data.path=text.txt model.input_dropout=0.1", GIVEN),
    ("{tiny} data.path=text.txt train.max_steps=null", "give (train.max_minutes)", r"\1=0.01"),
    ("{tiny} data.path=nested/one data.label=folder", "give the folder", "data.path=nested"),
    ("{tiny} data.path=text.txt device=tpu", "choose (auto)", r"device=\1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def place(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what people bring."""
    folder = tmp_path_factory.mktemp("hints")
    for name in ("folder", "broken", "held by/run", "nested/one"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.txt").write_text(SENTENCE * 40)
        (folder / name / "b.txt").write_text(SENTENCE[::-1] * 40)
    (folder / "broken" / "c.txt").write_bytes(b"abc\xff" * 100)
    (folder / "binary").write_bytes(bytes(range(256)) * 40)
    (folder / "text.txt").write_text(SENTENCE * 40)
    (folder / "strange.txt").write_text(SENTENCE * 40 + "ö")
    (folder / "accents.txt").write_text(SENTENCE * 40 + "the rain e\u0301")
    (folder / "rare.txt").write_text("жрнпс" * 4000 + "".join(map(chr, range(0x3041, 0x3081))))
    for name, encoding in (("latin", "latin-1"), ("wide", "utf-16-le")):
        (folder / f"{name}.txt").write_text("Wär ich ein Vöglein\n" * 99, encoding=encoding)
    (folder / "koi8.txt").write_text("Ночь, улица, фонарь\n" * 99, encoding="koi8-r")
    (folder / "mark.txt").write_text(SENTENCE * 40, encoding="utf-16")
    noise = np.random.default_rng(0).laplace(0, 0.1, (12 * 8000, 2)).clip(-0.9, 0.9)
    silent = np.concatenate([noise, np.zeros((20 * 8000, 2))])
    sounds = {"stereo": noise, "quiet": noise * 0.01, "silent": silent}
    for name, wave in {**sounds, "antiphase": noise[:, :1] * [1, -1]}.items():
        soundfile.write(folder / f"{name}.wav", wave, 8000)
    bad = shutil.copytree(trained, folder / "bad") / "checkpoints" / "best.safetensors"
    bad.write_bytes(bad.read_bytes()[:-1] + b"\0")
    return folder


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: hint[0])
def test_what_a_message_recommends_does_what_it_says(
    hint: tuple[str, ...],
    place: Path, trained: Path, learnt: Path, run: Run, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = shutil.copytree(place, tmp_path / "place")
    own = shutil.copytree(trained, folder / "runs" / "run")
    monkeypatch.chdir(folder)
    tiny = shlex.join(["recipe=shakespeare", *SMALL, "train.max_steps=2"])
    names = {"{run}": str(own), "{sound}": str(learnt / "run"), "{tiny}": tiny}
    line, pattern, done = (
        re.sub("|".join(names), lambda name: names[name[0]], part) for part in (*hint, r"\1")[:3]
    )
    words = shlex.split(line)
    first = run(*words)
    lines = (first.out.decode() + first.err).splitlines()
    found = [match for said in lines if (match := re.search(pattern, said))]
    assert found, lines
    after = shlex.split(found[0].expand(done))
    if after[0] == "python":
        words = after[3:]
    else:
        new = [word for word in after if not word.startswith("-")]
        gone = {word.removeprefix("-").partition("=")[0] for word in after}
        words = [w for w in words if w.partition("=")[0] not in gone] + new
    again = run(*(word for word in words if not word.startswith("--")))
    assert again.code == 0, (words, lines, again.err)
    assert found[0].string not in again.out.decode() + again.err
