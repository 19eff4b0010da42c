"""Any command line ends with an exit code of the contract and a line or two, never a traceback."""

import random
from pathlib import Path

import pytest

from seqkit.commands import COMMANDS
from seqkit.config import options
from tests.conftest import TINY, Run
from tests.faults.conftest import Amount

pytestmark = pytest.mark.faults
VALUES = (
    *("", "0", "-1", "1", "nan", "inf", "1e308", "1e-308", "999999999999", "null", "true", "None"),
    *("[]", "[1", "{}", "{a: 1}", "a,b", "'", '"', "\\", "${x}", "${oc.env:HOME}", "é☃", "\udcff"),
    *("../../x", "/", ".", "/dev/null", "a b", "!!python/name:os.system", "\x1b[31m", "x" * 5000),
)
SIGNS = ("=", "=", "=", "", "+=", "==")
CODES = {0, 2, 3, 4, 5, 6, 7}


def test_no_command_line_ends_in_a_traceback(
    run: Run, trained: Path, text_file: Path, amount: Amount, chance: random.Random,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    keys = [name for name, _ in options()]
    commands = [name for name in COMMANDS if name != "train"]
    numbers = amount(40, 2000)
    for _ in numbers:
        kind = chance.random()
        fuzzed = [
            chance.choice(keys) + chance.choice(SIGNS) + chance.choice(VALUES)
            for _ in range(chance.randint(1, 3))
        ]
        if kind < 0.5:  # trained for a step at most, or shown
            words = [*TINY, f"data.path={text_file}", "train.max_steps=1", "run_dir=run", *fuzzed]
            words += ["--cfg"] if kind < 0.4 else ["quiet=true"]
        else:
            words = [chance.choice(commands), f"checkpoint={trained}", "device=cpu", "length=3"]
            words += [f"data.path={text_file}", *fuzzed]
        done = run(*words)
        assert done.code in CODES, (words, done.err)
        assert "Traceback" not in done.err, words
        if done.code:
            assert done.err.rstrip("\n").splitlines()[-1].startswith("seqkit: "), (words, done.err)
        assert Path.cwd() == place
