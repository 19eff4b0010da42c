"""How often a model of several authors writes as the one that it was asked for.

    python benchmarks/said_authors.py AUTHORS CHECKPOINT… --each 50 --strength 1 2

AUTHORS is what data.path was, a folder for each author. N-gram models of the first 90 % of each,
which is what the training had, take a passage to be of the author who makes it likeliest. They have
to be right about 97 % of the passages of the last 10 % before anything is judged by them.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seqkit.config import Config
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.device import choose_device
from seqkit.generation.continuation import continue_prompt
from seqkit.generation.request import as_trained, request_of
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.named_checkpoint import load_checkpoint
from seqkit.symbols import Floats, Integers

ORDER, LENGTH, TRAINING = 6, 500, 0.9


class Grams:
    """How often n-grams, numbers (M,) in the given base, occur, and what follows their contexts."""

    def __init__(self, grams: Integers, base: int) -> None:
        self._base = base
        self._grams, self._counts = np.unique(grams, return_counts=True)
        self._contexts, first = np.unique(self._grams // base, return_index=True)
        self._totals = np.add.reduceat(self._counts, first)
        self._kinds = np.diff(np.append(first, len(self._grams)))

    def mixed(self, grams: Integers, shorter: Floats) -> Floats:
        """The probability of the last symbol of n-grams (N,), given that without their first one.

        Of the mass of a context, as much goes to the shorter one as it has kinds of symbols after
        it: Witten and Bell, 1991, method C.
        """
        count = _found(self._grams, self._counts, grams)
        total, kinds = (
            _found(self._contexts, values, grams // self._base)
            for values in (self._totals, self._kinds)
        )
        mixed: Floats = (count + kinds * shorter) / np.maximum(total + kinds, 1)
        return np.where(total > 0, mixed, shorter)


def _found(keys: Integers, values: Integers, wanted: Integers) -> Integers:
    """The values of some keys, which are sorted; 0 of those that there are not."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0)


class Reader:
    """N-gram models of the authors, by their names."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._alphabet = np.unique([ord(char) for char in "".join(texts.values())])
        self._base = len(self._alphabet) + 1  # one for what is none of them
        self._models = {
            name: [Grams(own, self._base) for own in self._grams(text)]
            for name, text in texts.items()
        }

    def author(self, passage: str) -> str:
        """Who most likely wrote it."""
        nats = {}
        for name, models in self._models.items():
            likely = np.full(1, 1 / self._base)
            for model, grams in zip(models, self._grams(passage), strict=True):
                likely = model.mixed(grams, likely)
            nats[name] = float(-np.log(likely).sum())
        return min(nats, key=nats.__getitem__)

    def _grams(self, text: str) -> list[Integers]:
        """The 1-grams to ORDER-grams that end with each symbol but the first, as numbers."""
        codes = np.array([ord(char) for char in text])
        places = np.minimum(np.searchsorted(self._alphabet, codes), len(self._alphabet) - 1)
        symbols = np.where(self._alphabet[places] == codes, places, self._base - 1)
        windows = np.lib.stride_tricks.sliding_window_view(symbols, ORDER)
        powers = self._base ** np.arange(ORDER)[::-1]
        return [windows[:, -size:] @ powers[-size:] for size in range(1, ORDER + 1)]


def told(asked: Sequence[str], found: Sequence[str]) -> dict[str, object]:
    """How many were recognised, and of each author as whom how often."""
    right = [one == other for one, other in zip(asked, found, strict=True)]
    of = {
        name: dict(Counter(own for one, own in zip(asked, found, strict=True) if one == name))
        for name in sorted({*asked})
    }
    return {"passages": len(right), "right": round(sum(right) / len(right), 4), "taken for": of}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("authors", type=Path)
    parser.add_argument("checkpoints", nargs="*")
    parser.add_argument("--each", type=int, default=50, help="samples of an author")
    parser.add_argument("--strength", type=float, nargs="*", default=[1.0])
    parser.add_argument("--temperature", type=float, default=None)
    parser.add_argument("--seed", type=int, default=1000)
    given = parser.parse_args()
    texts: dict[str, str] = {}
    for path in sorted(given.authors.rglob("*.txt")):
        own = path.read_text(encoding="utf-8")
        texts[path.parent.name] = texts.get(path.parent.name, "") + own
    cut = {name: int(len(text) * TRAINING) for name, text in texts.items()}
    reader = Reader({name: text[: cut[name]] for name, text in texts.items()})
    held_out = [
        (name, text[at : at + LENGTH])
        for name, text in texts.items()
        for at in range(cut[name], len(text) - LENGTH + 1, LENGTH)
    ]
    names, passages = zip(*held_out, strict=True)
    print(json.dumps({"held out": told(names, [*map(reader.author, passages)])}), flush=True)
    for checkpoint in given.checkpoints:
        saved = load_checkpoint(checkpoint, Catalogue(), Console(quiet=True))
        for strength in given.strength:
            asked = [name for name in texts for _ in range(given.each)]
            made = [text for name in texts for text in written(saved, name, strength, given)]
            found = told(asked, [*map(reader.author, made)])
            print(json.dumps({"checkpoint": checkpoint, "strength": strength} | found), flush=True)


def written(
    saved: Checkpoint, author: str, strength: float, given: argparse.Namespace
) -> list[str]:
    """Texts that an author is asked for, as many as are wanted of each."""
    config = as_trained(Config(seed=given.seed, temperature=given.temperature), saved.config)
    config.streams, config.label, config.label_strength = given.each, author, strength
    trained, nothing = saved.trained(saved.build(choose_device("auto"))), np.zeros(0, np.uint8)
    asked = request_of(config, LENGTH)
    blocks = continue_prompt(trained, nothing, asked, notice=lambda said: None)
    rows = np.concatenate([*blocks])
    return [str(saved.codec.decode(stream)) for stream in rows.T]


if __name__ == "__main__":
    main()
