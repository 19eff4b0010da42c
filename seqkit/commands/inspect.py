"""`inspect`: what a checkpoint holds."""

import dataclasses
import json
from typing import Any

import yaml

from seqkit.config import Keys
from seqkit.foundation import stdout
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.model.arrays import count_parameters
from seqkit.runs.named_checkpoint import load_checkpoint


def run(keys: Keys, catalogue: Catalogue, console: Console) -> None:
    """Print a checkpoint's model, codec, data, metrics and settings, as YAML or JSON."""
    saved = load_checkpoint(keys.checkpoint, catalogue, console)
    summary: dict[str, Any] = {
        "digest": saved.digest,
        "parameters": count_parameters(saved.model),
        "model": vars(saved.model),
        "codec": _shorten(saved.codec.to_spec()),
        "metrics": saved.metrics,
        "data": saved.data,
        "versions": saved.versions,
        "training_state": saved.training is not None,
        "config": dataclasses.asdict(saved.settings),
    }
    text = json.dumps(summary)
    if not keys.json:
        text = yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True).rstrip("\n")
    stdout.write(text)


def _shorten(spec: dict[str, Any]) -> dict[str, Any]:
    """The codec's spec with its vocabulary as a string that can be read, and without books."""
    if spec["name"] == "spectral":
        books = {name: f"{array[1:]}" for name, array in spec["books"].items()}
        spec = {**spec, "books": books}
    if spec["name"] == "characters":
        characters = "".join(map(chr, spec["vocabulary"]))
        spec = {**spec, "size": len(characters), "vocabulary": characters}
    return spec
