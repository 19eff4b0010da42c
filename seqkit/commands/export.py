"""`export`: a checkpoint as a page, as an ONNX model of one step, or in 8 bits."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from seqkit.commands import outputs
from seqkit.config import Config
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.machine import HOST
from seqkit.foundation.run_folders import SUFFIX
from seqkit.generation import labelled
from seqkit.page.page import page_of
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.named_checkpoint import load_checkpoint


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Write `out`: a page, a checkpoint or an ONNX model, as its name's ending says.

    The checkpoint has its network's matrices in 8 bits, and no state of its training.
    """
    out = outputs.result_file(config)
    suffix = out.suffix.lower() if out else ""
    if out is None or suffix not in (".html", ".onnx", SUFFIX):
        asked = "no out" if out is None else f"out={out}"
        raise ConfigError(
            f"{asked}: give out=FILE.html for a page that runs the model, out=FILE.onnx, or "
            f"out=FILE{SUFFIX} for 8-bit weights"
        )
    saved = load_checkpoint(config.checkpoint, catalogue, console)
    if suffix == SUFFIX:
        small = dataclasses.replace(saved, eight_bits=True, training=None, training_tensors={})
        small.save(out, overwrite=config.overwrite)
    elif suffix == ".html":
        content = page_of(saved.as_heard(config.sample), out.stem)
        with disk.atomic_write(out, config.overwrite, len(content)) as stream:
            stream.write(content)
    else:
        _write_onnx(saved, out, config, console)
    console.notice(f"written: {out}")


def _write_onnx(saved: Checkpoint, out: Path, config: Config, console: Console) -> None:
    """Symbols and state in, logits and state out.

    The codec, which tells what the symbols stand for, is in the model's metadata as JSON. So are
    labels: the condition is a code, if there are codes, times their numbers plus the number.
    """
    if saved.model.frame > 1:
        raise ConfigError(
            f"out={out}: an ONNX model makes one symbol a step, and this network makes "
            f"{saved.model.frame}: give out=NAME.html for a page that runs it"
        )
    try:
        from onnx import checker, helper

        from seqkit.generation.engines import onnx, onnx_graph
    except (ImportError, OSError) as error:
        raise ConfigError(f"export: ONNX Runtime does not load: {error}") from error
    with console.progress("export"):
        network = saved.network(HOST)
        properties: dict[str, Any] = {"codec": saved.codec.to_spec(), "start": saved.codec.start}
        if saved.labels is not None:
            network = network.with_choices(labelled.every(saved.labels))
            properties["labels"] = saved.labels.values
        model = onnx.one_step(onnx_graph.OnnxStep(network, saved.codec.size))
        helper.set_model_props(model, {key: json.dumps(value) for key, value in properties.items()})
        checker.check_model(model)
        content = model.SerializeToString()
    with disk.atomic_write(out, config.overwrite, len(content)) as stream:
        stream.write(content)
