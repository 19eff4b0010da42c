"""`export`: a checkpoint as a page, or in 8 bits."""

import dataclasses

from seqkit.commands import outputs
from seqkit.config import Keys
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.run_folders import SUFFIX
from seqkit.play.page import page_of
from seqkit.runs.named_checkpoint import load_checkpoint


def run(keys: Keys, catalogue: Catalogue, console: Console) -> None:
    """Write `out`: a page or a checkpoint, as its name's ending says.

    The checkpoint has its network's matrices in 8 bits, and no state of its training.
    """
    out = outputs.result_file(keys.out, [keys.checkpoint], overwrite=keys.overwrite)
    suffix = out.suffix.lower() if out else ""
    if out is None or suffix not in (".html", SUFFIX):
        asked = "no out" if out is None else f"out={out}"
        raise ConfigError(
            f"{asked}: give out=FILE.html for a page that runs the model, or out=FILE{SUFFIX} for "
            "8-bit weights"
        )
    saved = load_checkpoint(keys.checkpoint, catalogue, console)
    if suffix == SUFFIX:
        small = dataclasses.replace(saved, eight_bits=True, training=None, training_tensors={})
        small.save(out, overwrite=keys.overwrite)
    else:
        disk.write(out, page_of(saved, out.stem), keys.overwrite)
    console.notice(f"written: {out}")
