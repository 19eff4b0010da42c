"""What several commands need first: the data, a checkpoint, a prompt, versions."""

import dataclasses
import platform
from pathlib import Path

import torch

import seqkit
from seqkit import disk
from seqkit.config import Config, DataConfig
from seqkit.console import Console, Product
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Corpus, Part
from seqkit.data.load import load_corpus, recorded_path_problem
from seqkit.errors import CheckpointError, ConfigError, DataError, OutputError
from seqkit.generation.medium import medium_of
from seqkit.generation.request import prompt_of
from seqkit.options import check_section
from seqkit.plugins import Catalogue
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.symbols import Symbols


def load_checkpoint(place: str | None, catalogue: Catalogue) -> Checkpoint:
    """The checkpoint that the user named."""
    if not place:
        raise ConfigError("no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE")
    return checkpoint.load(checkpoint.find(Path(place)), catalogue)


def own_part(
    saved: Checkpoint, name: str, catalogue: Catalogue, console: Console
) -> tuple[Part, Corpus]:
    """A checkpoint's own validation or test part, found again, and the corpus it is a part of."""
    data = _data_config(saved)
    if data.path:
        if problem := recorded_path_problem(Path(data.path), saved.codec, saved.data):
            raise DataError(f"{problem}: give data.path=FILE_OR_FOLDER")
    elif data.dataset not in catalogue.names("datasets"):
        given = [str(module) for module in saved.config.get("plugins") or ()]
        hint = f"plugins={','.join(given)}, as in the training" if given else "plugins=MODULE"
        raise DataError(
            f"the checkpoint was trained on data.dataset={data.dataset}, which is not to be found: "
            f"install the package that it is from, or give {hint}, or data.path"
        )
    corpus = load_corpus(data, catalogue=catalogue, notice=console.notice, codec=saved.codec)
    if corpus.sha256 != saved.data["sha256"]:
        raise DataError(
            f"{data.path or corpus.name} is not what the checkpoint was trained on "
            "(another sha256): give data.path to evaluate other data"
        )
    _, validation, test = corpus.split(data.split)
    part = validation if name == "validation" else test
    if not len(part):
        raise DataError(f"the checkpoint was trained without a {name} part: give data.path")
    return part, corpus


def _data_config(saved: Checkpoint) -> DataConfig:
    """The data keys of a training; those of another version of seqkit are passed over."""
    known = {item.name for item in dataclasses.fields(DataConfig)}
    try:
        kept = {key: value for key, value in saved.config["data"].items() if key in known}
        data = DataConfig(**kept)
        check_section(data, "data.")
    except (AttributeError, ConfigError, KeyError, TypeError) as error:
        raise CheckpointError(f"the checkpoint's data settings cannot be read: {error}") from error
    return data


def length(config: Config, codec: Codec) -> int:
    """How many symbols to generate. Raises ConfigError for seconds of text, or too few."""
    return medium_of(codec).length(config.length, config.seconds)


def read_prompt(config: Config, codec: Codec) -> Symbols:
    """The symbols (N,) of prompt, prompt_file or prompt_audio: see Medium."""
    return medium_of(codec).read_prompt(prompt_of(config))


def free_output(config: Config) -> Path | None:
    """The file of `out`, None for stdout.

    Raises:
        OutputError: it exists, and overwrite was not given.
    """
    out = Path(config.out) if config.out and config.out != "-" else None
    if out and out.exists() and not config.overwrite:
        raise OutputError(f"{out} exists: give another out, or overwrite=true")
    return out


def write_result(out: Path | None, text: str) -> None:
    """Write a command's result, a line or a table, to its file or to stdout."""
    if out:
        with disk.atomic_write(out) as stream:
            stream.write((text + "\n").encode())
    else:
        product = Product()
        product.write(text + "\n")
        product.flush()


def versions() -> dict[str, str]:
    """Of what computes."""
    return {
        "seqkit": seqkit.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
