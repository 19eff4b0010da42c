"""Makes report.png, the picture of a run's report in README, with Chromium.

    python docs/pictures/make.py [key=value …]

trains with recipe=shakespeare and these keys, and takes the picture of the report's first page.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from seqkit.cli import main

_PICTURE = Path(__file__).with_name("report.png")
_SIZE = "900,900"  # pixels


def make(keys: Sequence[str]) -> int:
    """Write the picture; the exit code of the training."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        print("make.py: no Chromium on this machine: install it", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        run = Path(name) / "run"
        code = main(["recipe=shakespeare", *keys, f"run_dir={run}"])
        if code == 0:
            picture(program, run / "report.html", _PICTURE, Path(name) / "browser")
    return code


def picture(program: str, page: Path, out: Path, profile: Path) -> None:
    """What Chromium shows of a page, as a PNG."""
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={profile}", f"--window-size={_SIZE}", f"--screenshot={out}"]
    subprocess.run([*command, page.absolute().as_uri()], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(make(sys.argv[1:]))
