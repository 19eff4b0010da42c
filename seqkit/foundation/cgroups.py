"""Linux's control groups, which bound what a process may take of its machine."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def folders(root: Path, controller: str) -> Iterator[tuple[Path, bool]]:
    """The folders of a process's control groups, from its own to the outermost.

    A container sees its own group as the outermost, under whatever path the host gave it: folders
    that are not there are among these, too.

    Args:
        root: where the system's files are looked for.
        controller: memory or cpu.

    Yields:
        A folder, and whether it is of version 1, whose files have other names.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / controllers
        inside = PurePosixPath(path.lstrip("/"))
        for level in (inside, *inside.parents):
            yield mount / level, bool(controllers)
