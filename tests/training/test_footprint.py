"""The estimate of a training's memory, beside what real trainings take."""

import itertools
import json
import subprocess
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from seqkit.compose import compose
from seqkit.compose.recipes import recipe_files
from seqkit.config import ModelConfig
from seqkit.model.arrays import count_parameters
from seqkit.model.char_rnn import CharRNN
from seqkit.training.footprint import TrainingShape, advice, shape_of
from tests.conftest import Tell, environment
from tests.warm_python import python

GB = 10**9
SHAPES: dict[str, dict[str, object]] = {
    "weights": {"num_layers": 2, "hidden_size": 1000, "batch_size": 1, "sequence_length": 4},
    "layers": {"num_layers": 4, "hidden_size": 128, "batch_size": 64, "sequence_length": 256},
    "logits": {
        **{"num_layers": 1, "hidden_size": 8, "vocabulary_size": 2000, "batch_size": 64},
        "sequence_length": 128,
    },
    "gru": {
        **{"cell": "gru", "num_layers": 2, "hidden_size": 256, "batch_size": 64},
        "sequence_length": 256,
    },
}
_MEASURE = """
import sys
import seqkit
from pathlib import Path

seqkit.train("shakespeare", *sys.argv[2:], "run_dir=run", "overwrite=true", "length=1",
    "train.max_steps=8", "train.validate_every=0", "data.split=[0.998,0.002,0.0]",
    "model.dropout=0", "device=cpu", "sample.engine=torch", data=sys.argv[1])
status = Path("/proc/self/status").read_text()  # unlike rusage, not the parent's
print(1024 * int(status.partition("VmHWM:")[2].split()[0]))
"""


def peak(folder: Path, *keys: str) -> int:
    """The most bytes that the process of a training has had.

    glibc keeps what is freed, in pieces that do not always fit the next step: it takes some steps
    until the process stops growing.
    """
    text = folder / "text.txt"
    text.write_text("to be or not to be\n" * 15_000)
    done = subprocess.run(
        [python(), "-c", _MEASURE, str(text), *keys],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def smallest(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The peak of a training that takes next to nothing itself."""
    words = ("model.hidden_size=8", "train.batch_size=1", "train.sequence_length=8")
    return peak(tmp_path_factory.mktemp("smallest"), *words)


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the peak")
@pytest.mark.faults
@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("gru", "bf16"),
        ("layers", "fp32"),
        *(
            pytest.param(name, precision, marks=pytest.mark.every)
            for name, precision in itertools.product(SHAPES, ("fp32", "bf16"))
            if (name, precision) not in (("gru", "bf16"), ("layers", "fp32"))
        ),
    ],
)
def test_a_real_training_takes_what_is_estimated_or_a_little_more(
    name: str, precision: str, smallest: int, tmp_path: Path, tell: Tell
) -> None:
    shape = SHAPES[name]
    of_model = {field.name for field in fields(ModelConfig)}
    keys = [f"{'model' if k in of_model else 'train'}.{k}={value}" for k, value in shape.items()]
    keys += [f"train.precision={precision}", "data.kind=text"]
    config = compose(["recipe=shakespeare", *keys], []).config
    config.model.vocabulary_size = config.model.vocabulary_size or 8
    lanes = config.train.batch_size
    estimate = shape_of(config, config.model, lanes, precision, torch.device("cpu")).most
    # The estimate is to be below the most that such a training takes. One takes less if what is
    # freed happens to fit the next step, so where the first is below, a second one decides.
    taken = peak(tmp_path, *keys) - smallest
    if taken < estimate:
        taken = max(taken, peak(tmp_path, *keys) - smallest)
    slack = 60 * 10**6  # blocks that were freed and fit nothing any more
    assert estimate < taken < 1.7 * estimate + slack
    tell("trainings that take the memory that was estimated", 1)


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn_tanh"])
@pytest.mark.parametrize("embedded", [False, True])
def test_parameters_are_counted_without_making_them(cell: str, embedded: bool) -> None:
    config = ModelConfig(
        cell=cell, num_layers=3, hidden_size=5, vocabulary_size=7, embedding_size=4,
        input="embedding" if embedded else "one_hot",
    )  # fmt: skip
    made = sum(own.numel() for own in CharRNN(config).parameters())
    assert count_parameters(config) == made


def test_advice_fits_and_is_the_largest_of_its_kind() -> None:
    model = ModelConfig(num_layers=2, hidden_size=4096, vocabulary_size=256)
    shape = TrainingShape(model, 2, 512, 256, "fp32", on_gpu=False)
    found = advice(shape, 60 * GB, new=True)
    keys = dict(word.split("=") for word in found.split() if "=" in word)
    assert list(keys) == ["train.batch_size", "model.hidden_size"]
    lanes = int(keys["train.batch_size"])
    fits, too_many = (replace(shape, lanes=count).most for count in (lanes, lanes + 1))
    assert fits < 0.6 * 60 * GB < too_many
    width = int(keys["model.hidden_size"])
    fits, too_wide = (
        replace(shape, model=replace(model, hidden_size=size)).most for size in (width, width + 1)
    )
    assert fits < 0.6 * 60 * GB < too_wide
    assert "hidden_size" not in advice(shape, 60 * GB, new=False)
    assert "smaller network" in advice(shape, 10**6, new=True)


def test_a_validation_over_a_large_vocabulary_counts() -> None:
    model = ModelConfig(num_layers=1, hidden_size=64, vocabulary_size=10_000)
    shape = TrainingShape(model, 2, 8, 32, "fp32", on_gpu=True)
    logits = 4 * 8192 * 10_000  # of one call, beside their probabilities
    assert replace(shape, scored=10**6).most > shape.kept + 2 * logits > 2 * shape.most
    assert replace(shape, scored=100).most == shape.most


def test_a_long_linear_prediction_counts() -> None:
    model = ModelConfig(num_layers=1, hidden_size=64, vocabulary_size=256, input="embedding")
    shape = TrainingShape(model, 2, 128, 32, "fp32", on_gpu=False)
    for conditions, size in ((0, 4), (193, 8)):
        own = replace(model, conditions=conditions)
        short, long = (replace(shape, model=replace(own, lookback=k)) for k in (20, 4096))
        products = size * 128 * 32 * 4096
        assert short.most < products < long.most < products + short.most


@pytest.mark.parametrize("name", recipe_files([]))
def test_a_shipped_recipe_fits_where_it_runs(name: str) -> None:
    config = compose([f"recipe={name}"], []).config
    config.model.vocabulary_size = config.model.vocabulary_size or 256
    for precision in ("fp32", "bf16"):
        lanes = config.train.batch_size
        shape = shape_of(config, config.model, lanes, precision, torch.device("cpu"))
        small = name in ("shakespeare", "toy_sentence", "wav_generation")
        assert shape.most < (GB if small else 8 * GB), json.dumps(vars(shape), default=vars)
