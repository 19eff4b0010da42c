"""Odd files are read right, or refused in words that help: the table of `odd`, walked through."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.data.odd import FILES, Odd

pytestmark = pytest.mark.faults
COMMAND = re.compile(r"`((?:ffmpeg|iconv|mkdir|perl|printf|sed|tail|tr) .+?)`")


@pytest.mark.parametrize("odd", FILES, ids=lambda odd: odd.name)
def test_what_becomes_of_it(
    odd: Odd, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(odd.name)
    file.write_bytes(odd.content())
    found = run("doctor", *odd.keys, f"data.path={file}")
    said = found.out.decode() + found.err
    assert (found.code, odd.says in said) == (odd.code, True), said
    assert "Traceback" not in said
    for command in COMMAND.findall(said):  # does what it is recommended for
        if shutil.which(command.split()[0]) is None:
            continue
        line = command.replace("ENCODING", odd.says.split()[0]).replace("FILE", odd.name)
        subprocess.run(["bash", "-c", line], check=False)  # iconv -c fails, and has written all
        again = run("doctor", *odd.keys, f"data.path={next(Path().glob('NEW*'), file)}")
        assert again.code == 0 and command not in again.out.decode() + again.err, again
