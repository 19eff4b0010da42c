"""`prepare`: files of text or sound as shards, which a training reads however large they are."""

from pathlib import Path

from seqkit import disk
from seqkit.commands.interrupts import ended_by_signals
from seqkit.config import Config
from seqkit.console import Console
from seqkit.data import remote
from seqkit.data.shards.prepare import prepare
from seqkit.errors import ConfigError, OutputError
from seqkit.plugins import Catalogue
from seqkit.progress_line import counted


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Write the shards of `data.path`, or go on with it, to the folder `out`."""
    if config.out in (None, "", "-"):
        raise ConfigError("no folder for the shards: give out=FOLDER")
    out = Path(str(config.out))
    if out.exists() and not out.is_dir():
        raise OutputError(f"out={out} is a file: give a folder for the shards")
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
    console.notice(
        f"written: {out}: {index.symbols:,} symbols of "
        f"{counted(index.document_count, 'document')} in "
        f"{counted(len(index.shards), 'shard')}; train with data.path={out}"
    )
