"""A model goes on with another text, whose new characters it learns, too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

import seqkit
from seqkit.api.model import Model
from seqkit.data.codecs import Characters
from seqkit.foundation.catalogue import Catalogue
from seqkit.runs.checkpoint import Checkpoint, load
from tests.conftest import TINY, Run, summary_of

OTHER = "the rain in “Spain” stays mainly in the plain;\n"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A text with four characters that the trained run never saw."""
    path = tmp_path / "other.txt"
    path.write_text(OTHER * 80)
    return path


def tune(run: Run, origin: Path, text: Path, into: Path, *more: str) -> str:
    """Fine-tune with success, and return what was said."""
    words = (f"data.path={text}", f"init_from={origin}", f"run_dir={into}", *more)
    done = run.ok(*TINY, "train.max_steps=60", "optimizer.lr=0.01", *words)
    return done.err


def last(into: Path, name: str = "last") -> Checkpoint:
    return load(into / "checkpoints" / f"{name}.safetensors", Catalogue())


def known_nats(model: Model[str], text: str, known: set[str]) -> float:
    """The mean loss of those characters of a text that are known, in nats."""
    return float(model.nats(text)[[character in known for character in text]].mean())


@pytest.mark.thorough
def test_new_characters_are_learnt_and_cost_the_known_ones_nothing(
    run: Run, tmp_path: Path
) -> None:
    verse = (Path(seqkit.__file__).parent / "data" / "verse.txt").read_text()
    half, end = len(verse) // 2, len(verse) * 19 // 20
    (tmp_path / "a.txt").write_text(verse[:half])
    other = verse[half:].translate(str.maketrans(",.'", "、。’"))
    (tmp_path / "b.txt").write_text(other)
    size = ("model.hidden_size=48", "model.num_layers=1", "train.sequence_length=16")
    words = (*TINY, *size, "train.validate_every=0")
    run.ok(
        *words,
        f"data.path={tmp_path / 'a.txt'}",
        f"run_dir={tmp_path / 'a'}",
        "train.max_steps=300",
    )
    old = Characters.fit([verse[:half]])
    nats = {}
    for unknown in ("error", "skip"):
        into = tmp_path / unknown
        said = tune(
            run,
            tmp_path / "a",
            tmp_path / "b.txt",
            into,
            *size,
            "train.max_steps=150",
            f"data.unknown={unknown}",
        )
        assert ("4 characters are new: 'Z' '’' '、' '。'; " in said) == (unknown == "error")
        text = other[end - half :]  # of the validation part
        if unknown == "skip":
            text = "".join(character for character in text if character in old.vocabulary)
        nats[unknown] = known_nats(seqkit.load(into, "cpu"), text, {*old.vocabulary})
    assert nats["error"] <= nats["skip"]


@pytest.mark.thorough
def test_what_was_grown_is_a_run_like_any_other(
    run: Run, trained: Path, other: Path, tmp_path: Path
) -> None:
    into = tmp_path / "grown"
    tune(run, trained, other, into, "train.max_steps=20")
    size = last(into).codec.size
    made = run("generate", f"checkpoint={into}", "prompt=in “Spain” ", "length=9", "device=cpu")
    assert made.out.decode().startswith("in “Spain” "), made.err
    scored = run("evaluate", f"checkpoint={into}", "json=true", "device=cpu")
    assert json.loads(scored.out)["skipped"] == 0, scored.err
    said = tune(run, trained, other, into, "train.max_steps=25", "resume=auto")
    assert "going on at step 20" in said
    assert "are new" not in said
    assert last(into).codec.size == size
    tune(run, into, other, tmp_path / "again", "train.max_steps=1")  # nothing is new to this one
    assert last(tmp_path / "again").codec.size == size


def test_what_is_told_of_the_network_is_the_checkpoints(
    run: Run, trained: Path, other: Path, tmp_path: Path
) -> None:
    into = tmp_path / "grown"
    wider = ("model.hidden_size=40", "model.num_layers=1", "model.vocabulary_size=200")
    tune(run, trained, other, into, "train.max_steps=2", *wider)
    for read in (own_config(into), summary_of(into)["settings"]):
        model = read["model"]
        size = last(into).codec.size
        assert (model["hidden_size"], model["num_layers"]) == (24, 2)
        assert model["vocabulary_size"] == size
    assert run.json("compare", f"runs={tmp_path}")["runs"][0]["parameters"] == sum(
        values.size for values in last(into).weights.values()
    )
    # The very line that began it goes on with it, and so does its folder.
    tune(run, trained, other, into, "train.max_steps=3", "resume=auto", *wider)
    run.ok(f"run_dir={into}", "resume=auto", "train.max_steps=4")
    assert own_config(into)["init_from"] == str(trained)
    assert own_config(into)["model"]["hidden_size"] == 24


def own_config(folder: Path) -> dict[str, Any]:
    found = yaml.safe_load((folder / "config.yaml").read_text())
    assert isinstance(found, dict)
    return found


def test_a_resumed_run_never_grows(run: Run, trained: Path, other: Path, tmp_path: Path) -> None:
    into = tmp_path / "grown"
    tune(run, trained, other, into, "train.max_steps=2")
    other.write_text(OTHER * 80 + "Ω\n")
    words = (f"data.path={other}", f"run_dir={into}", "train.max_steps=4", "optimizer.lr=0.01")
    assert "'Ω'" in run.fails(3, *TINY, *words, f"init_from={trained}", "resume=force")


def test_the_weights_of_known_characters_are_kept(
    run: Run, trained: Path, other: Path, tmp_path: Path
) -> None:
    still = ("train.max_steps=1", "optimizer.lr=1e-9", "optimizer.warmup_steps=0")
    tune(run, trained, other, tmp_path / "a", *still)
    tune(run, trained, other, tmp_path / "b", *still)
    before, after = last(trained, "best"), last(tmp_path / "a")
    assert isinstance(before.codec, Characters)
    assert isinstance(after.codec, Characters)
    numbers = torch.from_numpy(after.codec.encode(before.codec.vocabulary).astype(np.int64))
    for name, values in before.weights.items():
        found = after.weights[name]
        if name.startswith("head"):
            found = found[numbers]
        elif name == "layers.0.weight_ih_l0":
            found = found[:, numbers]
        np.testing.assert_allclose(found, values, atol=1e-6, rtol=0)
    again = last(tmp_path / "b").weights
    assert all(np.array_equal(values, again[name]) for name, values in after.weights.items())


@pytest.mark.parametrize(
    ("keys", "more"),
    [
        (["data.unknown=nearest"], 0),
        (["data.max_vocabulary=1", "data.unknown=skip"], 0),
        (["data.max_vocabulary={}", "data.unknown=skip"], 2),
    ],
)
def test_the_user_says_otherwise(
    keys: list[str], more: int, run: Run, trained: Path, other: Path, tmp_path: Path
) -> None:
    size = last(trained).codec.size
    words = [key.format(size + more) for key in keys]
    words += [f"data.path={other}", f"init_from={trained}", f"run_dir={tmp_path / 'b'}"]
    done = run.ok(*TINY, *words, "train.max_steps=1")
    assert ("2 characters are new" in done.err) == (more > 0)
    assert last(tmp_path / "b").codec.size == size + more
