"""What several commands need first: the data, a checkpoint, a prompt, versions."""

import dataclasses
import platform
from pathlib import Path

import numpy as np
import torch

import seqkit
from seqkit import disk
from seqkit.config import Config, DataConfig
from seqkit.console import Console, Product
from seqkit.data import datasets, load
from seqkit.data.codecs import Bytes, Codec, Quantiser, UnknownSymbolError
from seqkit.data.corpus import Corpus, Part
from seqkit.data.sound import reader, resample
from seqkit.errors import CheckpointError, ConfigError, DataError, OutputError
from seqkit.options import check_section
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.symbols import Symbols

_LENGTH = 500  # symbols of text, where nothing is said
_SECONDS = 5.0  # of sound


def load_corpus(data: DataConfig, console: Console, codec: Codec | None = None) -> Corpus:
    """The corpus that a data config names: its path, or else its data set."""
    return load.load_corpus(data, notice=console.notice, codec=codec)


def load_checkpoint(place: str | None) -> Checkpoint:
    """The checkpoint that the user named."""
    if not place:
        raise ConfigError("no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE")
    return checkpoint.load(checkpoint.find(Path(place)))


def own_part(saved: Checkpoint, name: str, console: Console) -> tuple[Part, Corpus]:
    """A checkpoint's own validation or test part, found again, and the corpus it is a part of.

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
    if isinstance(codec, Quantiser):
        samples = round((config.seconds or _SECONDS) * codec.sample_rate)
        if not config.length and samples < 1:
            raise ConfigError(
                f"seconds={config.seconds:g}: less than one sample at {codec.sample_rate} Hz"
            )
        return config.length or samples
    if config.seconds is not None:
        raise ConfigError(f"seconds={config.seconds:g}: this model writes text: give length")
    return config.length or _LENGTH


def read_prompt(config: Config, codec: Codec) -> Symbols:
    """The symbols (N,) of prompt, prompt_file or prompt_audio, N = 0 without one.

    Raises:
        ConfigError: a character is unknown and sample.unknown is error, or text is given to a
            model of sound, or sound to one of text.
        DataError: the file cannot be read.
    """
    if isinstance(codec, Quantiser):
        if config.prompt is not None or config.prompt_file is not None:
            raise ConfigError("this model makes sound: give prompt_audio=FILE instead of a text")
        if config.prompt_audio is None:
            return np.zeros(0, dtype=np.uint8)
        wave, rate = reader.read_whole(Path(config.prompt_audio))
        return codec.encode(resample.resample(wave, rate, codec.sample_rate))
    if config.prompt_audio is not None:
        raise ConfigError("prompt_audio: this model writes text: give prompt or prompt_file")
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
        raise DataError(f"prompt_file={path}: cannot be read: {disk.describe(error)}") from error
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
