"""Files that are replaced as `cp -p` and rsync replace them."""

import os
import shutil
from pathlib import Path


def replaced(file: Path, content: bytes) -> None:
    """Give a file other content of the same size, and its time stamp of before."""
    status = file.stat()
    assert len(content) == status.st_size
    file.write_bytes(content)
    put_back(file, status)


def moved(folder: Path) -> Path:
    """A folder in another place, its files with their times and new inodes, as rsync leaves it."""
    target = folder.with_name(f"{folder.name}_elsewhere")
    shutil.copytree(folder, target)  # by copy2, which keeps times
    shutil.rmtree(folder)
    return target


def put_back(file: Path, status: os.stat_result) -> None:
    """Give a file the times of another, not within the same tick of the clock."""
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    while file.stat().st_ctime_ns == status.st_ctime_ns:
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
