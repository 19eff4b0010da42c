"""`prepare`: files of text or sound as shards, which a training reads however large they are."""

from pathlib import Path

from seqkit.advice.recommend import fitting_recipe
from seqkit.commands import outputs
from seqkit.commands.doctor import config_of_recipe
from seqkit.commands.interrupts import ended_by_signals
from seqkit.config import Config, DataConfig
from seqkit.data import remote
from seqkit.data.datasets import Folders
from seqkit.data.shards.index import Index, unlike
from seqkit.data.shards.prepare import prepare
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, OutputError
from seqkit.foundation.wording import counted


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Write the shards of `data.path`, or go on with it, to the folder `out`."""
    if config.out in (None, "", "-"):
        raise ConfigError("no folder for the shards: give out=FOLDER")
    out = Path(str(config.out))
    if out.exists() and not out.is_dir():
        raise OutputError(f"out={out} is a file: give a folder for the shards")
    outputs.refuse_in_run(out)
    data = remote.localised(config.data, disk.cache_dir(), console.notice, console.progress)
    with ended_by_signals("the same command goes on with what it has written"):
        index = prepare(
            data,
            out,
            catalogue=catalogue,
            notice=console.notice,
            overwrite=config.overwrite,
            progress=console.progress,
        )
    console.notice(
        f"written: {out}: {index.symbols:,} symbols of "
        f"{counted(index.document_count, 'document')} in "
        f"{counted(len(index.shards), 'shard')}; train with "
        f"{_to_train(config.recipe, catalogue, console, out, index)}"
    )


def _to_train(
    recipe: str | None, catalogue: Catalogue, console: Console, out: Path, index: Index
) -> str:
    """The keys with which a training takes the shards: a recipe may have others of its own."""
    if not recipe:
        folders = Folders(disk.cache_dir(), console.notice)
        recipe = fitting_recipe(DataConfig(path=[str(out)]), folders, catalogue)
    recipe_data = config_of_recipe(catalogue, recipe).data
    keys = [f" data.{key}={value}" for key, value in unlike(recipe_data, index.settings).items()]
    keys += [f" plugins={','.join(catalogue.modules)}"] if catalogue.modules else []
    return f"recipe={recipe} data.path={out}{''.join(keys)}"
