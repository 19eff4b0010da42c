"""A torchaudio that cannot be imported is none, and what it computes stays the same."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.codecs import MuLaw
from seqkit.data.sound import resample
from seqkit.data.sound.torchaudio_import import torchaudio
from tests.conftest import environment
from tests.warm_python import python

pytestmark = pytest.mark.faults

RATE = 8000
_ENCODE = """
import sys
import numpy as np
from seqkit.config import DataConfig
from seqkit.data.load import load_corpus
from seqkit.foundation.plugins import Catalogue

told = []
data = DataConfig(kind="audio", path=[sys.argv[1]], sample_rate=8000)
corpus = load_corpus(data, catalogue=Catalogue(), notice=told.append)
np.save(sys.argv[2], corpus.whole.symbols)
print("\\n".join(told))
"""


@pytest.mark.parametrize("error", [ImportError, OSError, RuntimeError, AttributeError])
def test_an_import_that_fails_is_none(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise error(name)

    monkeypatch.setattr("seqkit.data.sound.torchaudio_import.importlib.import_module", fail)
    assert torchaudio.__wrapped__() is None


@pytest.mark.parametrize(
    "content",
    [
        "raise OSError('libcudart.so.13: cannot open shared object file')",
        "functional = 1",
        None,
    ],
)
def test_a_package_that_fails_gives_the_same_symbols_and_one_notice(
    content: str | None, tmp_path: Path
) -> None:
    package = tmp_path / "site" / "torchaudio"
    package.mkdir(parents=True)  # without content: a folder that only has the name
    if content is not None:
        (package / "__init__.py").write_text(content)
    wave = np.random.default_rng(0).normal(0, 0.2, 30_000).clip(-1, 1).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", wave, 44100, "FLOAT")
    paths = f"{tmp_path / 'site'}:{environment()['PYTHONPATH']}"
    done = subprocess.run(
        [python(), "-c", _ENCODE, str(tmp_path / "a.wav"), str(tmp_path / "found.npy")],
        env={**environment(), "PYTHONPATH": paths, "SEQKIT_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert torchaudio() is not None
    expected = MuLaw(256, RATE).encode(resample.resample(wave, 44100, RATE))
    assert np.array_equal(np.load(tmp_path / "found.npy"), expected)
    missing = "torchaudio cannot be imported" in done.stdout
    assert missing == (content is not None)  # a real package comes before a folder of its name
    assert done.stdout.count("torchaudio") == missing
