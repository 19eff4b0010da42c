"""The command line that `doctor` recommends does what it advises, and all bad files are named."""

import json
import shlex
from pathlib import Path
from typing import Any

import soundfile

from seqkit.compose import compose
from seqkit.config import DataConfig
from seqkit.data.codecs import Characters
from seqkit.data.load import load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.session import Session
from tests.commands.test_doctor import NOISE, PROSE
from tests.conftest import Result, Run


def examined(run: Run, *words: str) -> tuple[dict[str, Any], DataConfig, Result]:
    """What was found, how the command line that is recommended reads the data, and the output."""
    done = run.ok("doctor", *words, "json=true", "device=cpu", "train.max_minutes=0.05")
    found = json.loads(done.out)
    command = shlex.split(found["recommendation"]["command"])[3:]
    return found, compose(command, []).data, done


def test_line_ends_of_windows_are_advised_against_and_mended(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(PROSE.replace("\n", "\r\n").encode())
    found, data, _ = examined(run, f"data.path={text}")
    assert data.newline == "lf"
    assert any("data.newline=lf" in fault for fault in found["faults"])
    assert next(iter(found["text"]["vocabulary"]["odd"])) == "U+000D CR"


def test_a_byte_order_mark_is_advised_against_and_left_out(run: Run, tmp_path: Path) -> None:
    for name, mark in (("a", "\ufeff"), ("b", "")):
        (tmp_path / f"{name}.txt").write_text(f"{mark}{PROSE}", encoding="utf-8")
    found, data, _ = examined(run, f"data.path={tmp_path}")
    (fault,) = (fault for fault in found["faults"] if "U+FEFF" in fault)
    assert fault.startswith("1 file")
    assert fault.endswith("with data.encoding=utf-8-sig")
    assert data.encoding == "utf-8-sig"
    corpus = load_corpus(data, Session(Catalogue(), print))
    assert isinstance(corpus.codec, Characters)
    assert "\ufeff" not in corpus.codec.vocabulary


def test_a_gain_for_quiet_sound_is_in_the_command_line(run: Run, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", NOISE * 0.02, 8000)
    words = ("recipe=wav_generation", f"data.path={tmp_path / 'a.wav'}")
    found, data, _ = examined(run, *words)
    assert any("data.gain=peak" in fault for fault in found["faults"])
    assert data.gain == "peak"


def test_what_doctor_advises_of_a_short_text_is_trained(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(PROSE[:9000])
    found = run.json("doctor", f"data.path={file}", "device=cpu")
    assert any("init_from=shakespeare" in fault for fault in found["faults"])
    words = shlex.split(found["recommendation"]["command"])[3:]
    assert "init_from=shakespeare" in words
    assert not any(word.startswith("model.") for word in words)  # it brings its network
    run.ok(*words, f"run_dir={tmp_path / 'a'}", "train.max_steps=1", "train.max_minutes=0.05")


def test_a_list_is_for_the_recipe_of_names(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("\n".join(PROSE.split()))
    told = run.ok("doctor", f"data.path={file}", "data.document=line", "device=cpu").out.decode()
    assert "the text is short" not in told
    assert "recipe=names" in told.partition("Train with")[2]
