"""Every command of docs/index.md works, and prints what the page shows."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.conftest import SMALL, Run

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "index.md").read_text()
PROGRAM = "python -m seqkit "
SHORTER = {
    "checkpoint=shakespeare": ("device=cpu",),
    "checkpoint=etude": ("seconds=2", "device=cpu"),
    "checkpoint=runs/first": ("device=cpu",),
    "recipe=shakespeare": (*SMALL, "train.max_minutes=0", "train.max_steps=2"),
    "recipe=my_sound": (
        *("model.hidden_size=16", "seconds=0.1", "device=cpu"),
        *("train.max_minutes=0", "train.max_steps=2"),
    ),
    "checkpoint=runs/take": ("seconds=2", "device=cpu"),
}
"""What is added to the commands that hold a word, because the test has seconds, not minutes."""


def blocks() -> list[tuple[str, str]]:
    """The page's code blocks in their order: what stands above the block, and its content."""
    return re.findall(r"^```([^\n]+)\n(.*?)^```", PAGE, re.M | re.S)


def commands() -> list[tuple[str, str]]:
    """The page's commands of seqkit, each with the output that is shown below it, if any.

    Of a block that is titled, as an example whose words vary, only the first word is compared.
    """
    found: list[tuple[str, str]] = []
    for kind, content in blocks():
        if kind == "bash":
            found += [(line, "") for line in content.splitlines() if line.startswith(PROGRAM)]
        else:
            shown = content.split()[0] + "…" if "title=" in kind else content
            found[-1] = (found[-1][0], shown)
    return found


def pattern(line: str) -> str:
    """A shown line as a pattern: `…` stands for anything, a number for any number."""
    parts = re.split(r"(…|\d[\d,.]*)", line)
    kinds = {True: r"[\d,.]+", False: ".*"}
    return "".join(
        kinds[part != "…"] if index % 2 else re.escape(part) for index, part in enumerate(parts)
    )


def test_the_commands_print_what_is_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plays = tmp_path / "data" / "tinyshakespeare" / "input.txt"
    plays.parent.mkdir(parents=True)
    plays.write_bytes((ROOT / "seqkit" / "data" / "verse.txt").read_bytes())
    monkeypatch.setenv("SEQKIT_DATA_DIR", str(plays.parent.parent))
    noise = np.random.default_rng(0).normal(0, 0.1, 88_000)
    soundfile.write(tmp_path / "take.wav", noise, 8000)
    monkeypatch.chdir(tmp_path)
    assert len(commands()) > 5
    for command, shown in commands():
        words = shlex.split(command.removeprefix(PROGRAM), comments=True)
        more = [word for key, added in SHORTER.items() if key in words for word in added]
        result = run(*words, *more)
        assert result.code == 0, (command, result.err)
        printed = iter((result.err + result.out.decode()).splitlines())
        for line in shown.splitlines():
            assert any(re.fullmatch(pattern(line), one) for one in printed), (command, line)
    for file in re.findall(r"`(runs/[\w/.]+)`", PAGE):
        assert (tmp_path / file).exists()
