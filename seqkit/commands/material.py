"""What several commands need first: the data, a checkpoint, a prompt, versions."""

import dataclasses
import platform
from pathlib import Path

import numpy as np
import torch

import seqkit
from seqkit import checkpoint, datasets, paths, text
from seqkit.checkpoint import Checkpoint
from seqkit.codecs import Bytes, Codec, Symbols, UnknownSymbolError
from seqkit.config import Config, DataConfig, check_section
from seqkit.console import Console, Product
from seqkit.corpus import Corpus, Part
from seqkit.errors import CheckpointError, ConfigError, DataError, OutputError


def load_corpus(data: DataConfig, console: Console, codec: Codec | None = None) -> Corpus:
    """The corpus that a data config names: its path, or else its dataset.

    Raises:
        DataError: there is none, or it cannot be read.
    """
    cache = paths.cache_dir()
    if data.path:
        path = Path(data.path)
        located = datasets.Located(path, path.name or str(path))
    elif data.dataset:
        located = datasets.locate(data.dataset, datasets.Folders(cache, console.notice))
    else:
        raise ConfigError("no data: give data.path=FILE_OR_FOLDER, or a recipe with a data.dataset")
    corpus = text.load(data, located.path, located.name, cache, codec)
    if corpus.skipped:
        console.notice(f"{corpus.skipped} characters outside the vocabulary were left out")
    return corpus


def load_checkpoint(place: str | None) -> Checkpoint:
    """The checkpoint that the user named."""
    if not place:
        raise ConfigError("no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE")
    return checkpoint.load(checkpoint.find(Path(place)))


def validation_part(saved: Checkpoint, console: Console) -> tuple[Part, Corpus]:
    """A checkpoint's own validation part, found again, and the corpus that it is a part of.

    Only the datasets of this package are looked up by the name in a checkpoint.
    """
    data = _data_config(saved)
    if not data.path and data.dataset not in datasets.names():
        raise DataError(
            f"the checkpoint was trained on data.dataset={data.dataset}, which is not one of "
            "seqkit's own: give data.path"
        )
    corpus = load_corpus(data, console, saved.codec)
    if corpus.sha256 != saved.data["sha256"]:
        raise DataError(
            f"{data.path or corpus.name} is not what the checkpoint was trained on "
            "(another sha256): give data.path to evaluate other data"
        )
    return corpus.split(data.split)[1], corpus


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


def read_prompt(config: Config, codec: Codec) -> Symbols:
    """The symbols (N,) of prompt or prompt_file, N = 0 without one.

    Raises:
        ConfigError: a character is unknown and sample.unknown is error.
        DataError: the file cannot be read.
    """
    try:
        if config.prompt_file is not None:
            material: str | bytes = _read_file(Path(config.prompt_file), codec)
        else:
            material = config.prompt or ""
        if not material:
            return np.zeros(0, dtype=np.uint8)
        return codec.encode(material, config.sample.unknown)
    except UnknownSymbolError as error:
        raise ConfigError(
            f"prompt: {error}: the model never saw it; see sample.unknown=skip|nearest"
        ) from error


def _read_file(path: Path, codec: Codec) -> str | bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"prompt_file={path}: cannot be read: {paths.describe(error)}") from error
    if isinstance(codec, Bytes):
        return content
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"prompt_file={path}: byte {error.start} is not utf-8") from error


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
        with paths.atomic_write(out) as stream:
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
