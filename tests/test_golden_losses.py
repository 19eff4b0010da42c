"""Each recipe learns as it did: its first losses on a CPU, beside those in `golden_losses.json`.

Every recipe is trained with its own settings, but a narrower network and smaller batches, until it
has warmed up and its learning rate falls. If a change is meant to learn otherwise, write the file
anew, and let its difference show how much:

    OMP_NUM_THREADS=1 python -m tests.test_golden_losses
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from seqkit.compose import compose_training
from seqkit.config import Config
from seqkit.data import etude
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.ranks import Session
from seqkit.stages.training import set_up
from seqkit.training.events import Trained, Validated

FILE = Path(__file__).with_name("golden_losses.json")
RECIPES = sorted(file.stem for file in disk.config_dir("recipes").glob("*.yaml"))
FALLING = 40  # steps after the warm-up
TOLERANCE = 5e-4
RATE = 8000


def write_data(recipe: str, folder: Path) -> list[str]:
    """Words that name data for a recipe, which are written here; none if it brings its own."""
    if recipe == "toy_sentence":
        return []
    if recipe.startswith("spoken_digits"):
        noise = np.random.default_rng(1)
        for index in range(40):
            time = np.arange(1600) / RATE
            tone = np.sin(2 * np.pi * (150 + 40 * (index % 10)) * time) * np.hanning(1600)
            wave = 0.5 * tone + 0.02 * noise.uniform(-1, 1, 1600)
            name = f"{index % 10}_{('ann', 'ben')[index % 2]}_{index}.wav"
            soundfile.write(folder / name, wave, RATE)
        return [f"data.path={folder}"]
    if recipe in ("my_sound", "wav_generation"):
        rate = 4 * RATE if recipe == "my_sound" else RATE
        soundfile.write(folder / "a.wav", etude.render(etude.compose(4), rate), rate)
        return [f"data.path={folder / 'a.wav'}"]
    verse = (Path(disk.__file__).parents[1] / "data" / "verse.txt").read_text()
    parts = {"ptb.char.valid.txt": 4_000, "ptb.char.test.txt": 100} if recipe == "ptb" else {}
    for name, characters in parts.items():
        (folder / name).write_text(verse[-characters:].replace(" ", ""))
    name = "ptb.char.train.txt" if parts else "verse.txt"
    (folder / name).write_text(verse[:40_000].replace(" ", "") if parts else verse[:40_000])
    return [f"data.path={folder if parts else folder / name}"]


def shrink(config: Config) -> None:
    """Make network, batches and warm-up a share of their sizes, and end soon after the latter."""
    model, train = config.model, config.train
    model.hidden_size = max(16, model.hidden_size // 16)
    train.batch_size = max(1, train.batch_size // 8)
    train.sequence_length = max(3, train.sequence_length // 8)
    config.optimizer.warmup_steps //= 4
    train.max_minutes, train.max_epochs, train.patience = 0.0, 0, 0
    train.jump_after = 0.0  # rounding decides between jumps that are as good as each other
    train.max_steps = train.validate_every = config.optimizer.warmup_steps + FALLING


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums are rounded alike, on however many cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def losses(recipe: str, folder: Path) -> list[float]:
    """Nats of every ten steps, then of the validation: raw, and as it chooses."""
    data = folder / "data"
    data.mkdir()
    words = [f"recipe={recipe}", *write_data(recipe, data), f"run_dir={folder / 'run'}"]
    words += ["seed=1", "device=cpu", "train.precision=fp32"]
    config = compose_training(words, [])
    shrink(config)
    found: list[float] = []
    with one_thread(), set_up(config, Session(Catalogue(), lambda notice: None)) as training:
        assert training is not None
        for event in training.trainer.run():
            if isinstance(event, Trained):
                found.append(event.loss)
            elif isinstance(event, Validated):
                found += [event.raw_loss or event.loss, event.loss]
    return [float(f"{loss:.6g}") for loss in found]


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_learns_as_it_did(recipe: str, tmp_path: Path) -> None:
    expected = json.loads(FILE.read_text())[recipe]
    # Sums of another processor round otherwise, and clusters of a fitted codec are then others.
    tolerance = 30 * TOLERANCE if recipe == "my_sound" else TOLERANCE
    assert losses(recipe, tmp_path) == pytest.approx(expected, rel=tolerance)


def write() -> None:
    """Write the file of losses anew."""
    found = {}
    for recipe in RECIPES:
        with tempfile.TemporaryDirectory() as folder:
            found[recipe] = losses(recipe, Path(folder))
    rows = ",\n".join(f' "{recipe}": {json.dumps(values)}' for recipe, values in found.items())
    FILE.write_text(f"{{\n{rows}\n}}\n")


if __name__ == "__main__":
    write()
