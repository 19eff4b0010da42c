"""A checkpoint's own data is found again; what it names is not trusted."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from seqkit.api.checkpoint_data import asked_for
from seqkit.config import Config, DataConfig, ModelConfig
from seqkit.data.codecs import Quantiser
from seqkit.data.load import load_corpus
from seqkit.data.sound import Samples
from seqkit.data.sound.part import SoundPart
from seqkit.data.sound.slow_codes import Codebook
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.session import Session
from seqkit.generation.slow_tier import SlowTier
from seqkit.model.arrays import NetworkArrays
from seqkit.model.char_rnn import CharRNN
from seqkit.runs.checkpoint import Checkpoint, load
from seqkit.stages.conditions import learn_codes
from seqkit.symbols import Floats
from tests.conftest import SENTENCE, Run

BEST = "checkpoints/best.safetensors"


def forge(file: Path, **data: Any) -> Checkpoint:
    """The checkpoint, with other data settings in its config."""
    saved = load(file, Catalogue())
    config = {**saved.config, "data": {**saved.config["data"], **data}}
    return dataclasses.replace(saved, config=config)


def test_it_is_found_by_its_path(run: Run, trained: Path) -> None:
    done = run.ok("evaluate", f"checkpoint={trained}", "json=true", "device=cpu")
    record = load(trained / BEST, Catalogue()).data
    assert json.loads(done.out)["data_sha256"] == record["sha256"]
    assert record["bytes"] == 100 * len(SENTENCE)


@pytest.mark.parametrize("place", ["/dev/zero", "/proc/self/mem", "pipe", "longer.txt", "none.txt"])
def test_only_a_file_of_the_recorded_size_is_opened(
    place: str, run: Run, trained: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "longer.txt").write_text("the rain " * 501)
    path = Path(place) if place.startswith("/") else tmp_path / place
    forge(trained / BEST, path=[str(path)]).save(tmp_path / "foreign.safetensors")
    refused = run.fails_in_a_line(
        3, "evaluate", f"checkpoint={tmp_path / 'foreign.safetensors'}", "device=cpu"
    )
    assert "give data.path" in refused


def test_without_a_recorded_size_nothing_is_opened(run: Run, trained: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the password is Ü")
    foreign = forge(trained / BEST, path=[str(secret)])
    del foreign.data["bytes"]
    foreign.save(tmp_path / "foreign.safetensors")
    refused = run.fails(
        3, "evaluate", f"checkpoint={tmp_path / 'foreign.safetensors'}", "device=cpu"
    )
    assert "does not say how large" in refused
    assert "give data.path" in refused
    assert "Ü" not in refused


def test_a_data_set_that_nobody_offers_is_not_imported(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    saved = forge(trained / BEST, path=[], dataset="evil")
    saved.config["plugins"] = ["evil"]
    saved.save(tmp_path / "foreign.safetensors")
    refused = run.fails(
        3, "evaluate", f"checkpoint={tmp_path / 'foreign.safetensors'}", "device=cpu"
    )
    assert "data.dataset=evil was not found" in refused
    assert "plugins=evil, as in the training" in refused


def test_a_part_that_there_was_not_is_named(run: Run, trained: Path) -> None:
    refused = run.fails(3, "evaluate", f"checkpoint={trained}", "part=test", "device=cpu")
    assert "without a test part" in refused


def test_codes_of_sound_are_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "cache"))
    wave = 0.5 * np.sin(np.arange(8000) * 0.7)
    wave[7000:7400] = 0
    soundfile.write(tmp_path / "a.wav", wave, 1000)
    data = DataConfig(path=[str(tmp_path / "a.wav")], trim_silence=40, split=[0.5, 0.5, 0.0])
    console = Console(quiet=True)
    corpus = load_corpus(data, Session(Catalogue(), console.notice))
    assert isinstance(corpus.codec, Quantiser)
    book = learn_codes(SoundPart(corpus.whole, corpus.codec), 1)
    codes, writer = np.ones(1, np.uint8), CharRNN(ModelConfig(vocabulary_size=book.size))
    config, record = dataclasses.asdict(Config(data=data)), corpus.record()
    saved = Checkpoint(writer.config, corpus.codec, {}, config, record, {}, {})
    saved.slow = SlowTier(book, codes, NetworkArrays.of(writer))
    described, describe = list[int](), Codebook.describe

    def counted(self: Codebook, wave: Samples) -> Floats:
        described.append(len(wave))
        return describe(self, wave)

    monkeypatch.setattr(Codebook, "describe", counted)
    sizes = []
    for as_validated in (True, False):
        part, _ = asked_for(Config(), saved, Catalogue(), console, as_validated=as_validated)
        assert part.codes is not None
        assert len(part.codes) == len(part)
        sizes.append(len(part))
    assert sizes == described
    assert sizes[0] < sizes[1] == 4000
