"""`prepare`: files of text or sound as shards, which a training reads however large they are."""

from pathlib import Path

from seqkit import compose
from seqkit.commands import outputs
from seqkit.commands.interrupts import ended_by_signals
from seqkit.config import Config, DataConfig
from seqkit.data import remote
from seqkit.data.datasets import Folders
from seqkit.data.shards.index import Index, unlike
from seqkit.data.shards.prepare import prepare
from seqkit.doctor.advice import fitting_recipe
from seqkit.foundation import disk
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, OutputError
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.wording import counted


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Write the shards of `data.path`, or go on with it, to the folder `out`."""
    if config.out in (None, "", "-"):
        raise ConfigError("no folder for the shards: give out=FOLDER")
    out = Path(str(config.out))
    if out.exists() and not out.is_dir():
        raise OutputError(f"out={out} is a file: give a folder for the shards")
    outputs.refuse_in_run(out)
    data = remote.settled(config.data, disk.cache_dir(), console.notice, console.progress)
    with ended_by_signals("the same command goes on with what it has written"):
        index = prepare(
            data,
            out,
            catalogue=catalogue,
            notice=console.notice,
            overwrite=config.overwrite,
            progress=console.progress,
        )
    advice = _train_with(config, catalogue, console, out, index)
    console.notice(
        f"written: {out}: {index.symbols:,} symbols of "
        f"{counted(index.document_count, 'document')} in "
        f"{counted(len(index.shards), 'shard')}; {advice}"
    )


def _train_with(
    config: Config, catalogue: Catalogue, console: Console, out: Path, index: Index
) -> str:
    """The recipe and the keys with which a training takes the shards.

    A recipe may have values of its own for keys that the shards were made with.
    """
    shards = DataConfig(path=[str(out)])
    recipe = config.recipe or fitting_recipe(
        shards, Folders(disk.cache_dir(), console.notice), catalogue
    )
    plugins = [f"plugins={name}" for name in catalogue.modules]
    try:
        own = compose.compose([f"recipe={recipe}", *plugins], []).config.data
    except ConfigError:  # one of a --config-dir, unknown here
        own = shards
    made = unlike(own, index.settings)
    keys = "".join(f" data.{key}={value}" for key, value in made.items())
    sound = index.settings.get("kind") == "audio"
    if not keys and not config.recipe and not sound:
        return f"train with data.path={out}"
    told = f"train with recipe={recipe} data.path={out}{keys}"
    if keys and sound and not config.recipe:
        reads = " ".join(f"data.{key}={getattr(own, key)}" for key in made)
        told += f"; prepare recipe={recipe} makes them with {reads}"
    return told
