"""`report`: the page that shows a run, made anew."""

from pathlib import Path

from seqkit.advice import run_page
from seqkit.config import Keys
from seqkit.foundation import stdout
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError


def run(keys: Keys, catalogue: Catalogue, console: Console) -> None:
    """Write report.html of the run in `run_dir`, and print its path."""
    if not keys.run_dir:
        raise ConfigError("no run: give run_dir=FOLDER")
    with console.progress("writing the page"):
        file = run_page.write(Path(keys.run_dir))
    stdout.write(str(file))
