"""`doctor`: what some data are like and what to train on them, or how a run went."""

import dataclasses
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from seqkit import compose
from seqkit.commands import outputs
from seqkit.config import Config, DataConfig
from seqkit.data import pipes, remote
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Folders
from seqkit.data.load import load_corpus
from seqkit.data.shards import opened
from seqkit.doctor import advice, shown
from seqkit.doctor.examine import examine
from seqkit.doctor.fault import Fault
from seqkit.doctor.fitting_recipe import fitting_recipe
from seqkit.foundation import device, disk
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.escaping import json_text
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.wording import counted
from seqkit.report import verdict


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Print what was found, as text or as one JSON object."""
    out = outputs.result_file(config)
    if config.run_dir and (config.data.path or config.recipe):
        raise ConfigError("give data.path or recipe to look at data, or run_dir to look at a run")
    if config.run_dir:
        found = verdict.of_folder(Path(config.run_dir))
        text = json_text(found) if config.json else shown.run(found)
    else:
        found = _of_data(config, catalogue, console)
        text = json_text(found) if config.json else shown.data(found)
    outputs.write_result(out, text, overwrite=config.overwrite)


def _of_data(config: Config, catalogue: Catalogue, console: Console) -> dict[str, Any]:
    if not (config.data.path or config.data.dataset):
        raise ConfigError("no data: give data.path=FILE_OR_FOLDER, or run_dir=FOLDER of a run")
    cache = disk.cache_dir()
    given = pipes.settled(config.data.path, cache, console.notice, console.progress)
    config.data.path = given
    config.data = remote.here(config.data, cache, console.notice, console.progress)
    config = _with_recipe(config, catalogue, console)
    chosen = device.choose_device(config.device)
    read = partial(
        load_corpus, catalogue=catalogue, notice=console.notice, progress=console.progress
    )
    corpus = _readable(config, read)
    if config.data.kind == "auto":  # the command line to copy says what was found
        config.data.kind = corpus.codec.kind
    with device.memory_errors(lambda: "Try device=cpu."):
        examined = examine(config, corpus, console.progress)
        faults = [*_unreadable(corpus), *examined.faults]
        _take(config, faults)
        config.data.path = given  # the command line to copy has the URL
        recommended = advice.advise(config, examined, corpus, chosen, partial(_composed, catalogue))
    return {
        **examined.facts,
        "faults": [*map(str, faults)],
        "device": device.describe(chosen),
        "recommendation": recommended,
    }


def _readable(config: Config, read: Callable[..., Corpus]) -> Corpus:
    """The corpus, if need be without what cannot be read, and the config says so then.

    Raises:
        DataError: nothing can be read, or that is not what is wrong.
    """
    try:
        return read(config.data)
    except DataError as error:
        refused = error
    data = dataclasses.replace(config.data, on_bad_file="skip")
    try:
        corpus = read(data)
    except DataError:
        raise refused from None
    config.data = data
    return corpus


def _unreadable(corpus: Corpus) -> list[Fault]:
    if not (count := corpus.unreadable_files):
        return []
    what, them = (
        counted(count, "file or folder", "files or folders"),
        "it" if count == 1 else "them",
    )
    return [
        Fault(
            f"{what} cannot be read, see the notice: a training would end there; "
            f"data.on_bad_file=skip leaves {them} out"
        )
    ]


def _take(config: Config, faults: Iterable[Fault]) -> None:
    """Have the data read as the faults advise; shards are read as they were prepared."""
    if config.data.path and not opened.folder_of(config.data):
        keys = {key: value for fault in faults for key, value in fault.keys.items()}
        config.data = dataclasses.replace(config.data, **keys)


def _with_recipe(config: Config, catalogue: Catalogue, console: Console) -> Config:
    """The config, on a recipe that fits the data where none is given."""
    if config.recipe:
        return config
    folders = Folders(disk.cache_dir(), console.notice, console.progress)
    recipe = fitting_recipe(config.data, folders, catalogue)
    base = _composed(catalogue, recipe)
    kind = "audio" if base.data.kind == "audio" else config.data.kind
    minutes = config.train.max_minutes or base.train.max_minutes
    given = {
        item.name: value
        for item in dataclasses.fields(DataConfig)
        if item.name != "kind"
        and (value := getattr(config.data, item.name)) != getattr(DataConfig(), item.name)
    }
    return dataclasses.replace(
        base,
        data=dataclasses.replace(base.data, **given, kind=kind),
        train=dataclasses.replace(base.train, max_minutes=minutes),
        device=config.device,
    )


def _composed(catalogue: Catalogue, recipe: str) -> Config:
    """The config of a recipe as it is; of one in a `--config-dir`, unknown here, the defaults."""
    plugins = [f"plugins={name}" for name in catalogue.modules]
    try:
        return compose.compose([f"recipe={recipe}", *plugins], []).config
    except ConfigError:
        return compose.compose(plugins, []).config
