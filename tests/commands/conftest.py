"""What tests of commands share: a tiny model of the étude, trained by the real program."""

from pathlib import Path

import pytest

from seqkit.data import etude
from tests.conftest import process, shared

RATE = 4000
TINY = (
    *("recipe=wav_generation", f"data.sample_rate={RATE}", "model.hidden_size=64"),
    *("train.batch_size=16", "train.sequence_length=64", "optimizer.lr=0.02"),
    *("train.max_steps=400", "train.validate_every=200", "seconds=1", "device=cpu"),
)


@pytest.fixture(scope="session")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with étude.wav, and in `run` the run that learnt it."""

    def train(folder: Path) -> None:
        notes = etude.compose(64)
        etude.write(folder / "étude.wav", etude.render(notes, 16000), 16000)
        done = process(*TINY, "data.path=étude.wav", "run_dir=run", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "run/samples/final.wav\n"
        _, finished, closing = done.stderr.partition("finished: ")
        assert finished
        assert "making the closing sample, 1 s of sound\n" in closing

    return shared(tmp_path_factory, "sound", train)
