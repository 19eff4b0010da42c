"""What an earlier run left in a folder in which a run starts again: kept in a folder of its own.

So it is where the checkpoints to go on from were lost or taken away, and results are left. That
folder, earlier_1 or the first number that is free, is a run like any other. Its config.yaml comes
last, as a copy: as long as it is missing, the moving was ended by a kill, and goes on.
"""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from seqkit.foundation import disk
from seqkit.runs.layout import RunFiles


def place(files: RunFiles) -> Path | None:
    """Where `keep` would move the earlier run; None where it has no results, or can go on."""
    folder = next(own for own in _folders(files) if _takes(own, files))
    worth = files.checkpoint("best").exists() or files.summary.exists() or folder.exists()
    return folder if worth and not files.has_training_states else None


def free(files: RunFiles) -> Path:
    """A folder for an earlier run of which only a part is left."""
    return next(folder for folder in _folders(files) if not os.path.lexists(folder))


def _folders(files: RunFiles) -> Iterator[Path]:
    return (files.path / f"earlier_{number}" for number in itertools.count(1))


def _takes(folder: Path, files: RunFiles) -> bool:
    """Whether a folder is free, or what a kill left of the moving: then it replaces nothing."""
    if any(map(_is_no_folder, (folder, *RunFiles(folder).folders))):  # a user's
        return False
    targets = (folder / file.relative_to(files.path) for file in files.written)
    return not any(map(os.path.lexists, (RunFiles(folder).config, *targets)))


def _is_no_folder(place: Path) -> bool:
    return os.path.lexists(place) and (place.is_symlink() or not place.is_dir())


def keep(files: RunFiles) -> None:
    """Move what an earlier run left out of the way, if `place` says so. Raises OutputError."""
    folder = place(files)
    if folder is None:
        return
    for file in files.written:
        target = folder / file.relative_to(files.path)
        disk.make_folder(target.parent)
        if file == files.config:  # which the new one takes the place of
            with disk.atomic_write(target) as stream:
                stream.write(file.read_bytes())
        else:
            disk.rename(file, target)
