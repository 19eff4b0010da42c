"""How long a training on large shards takes to its first step, and how much memory it has then.

python benchmarks/sharded_start.py GIGABYTES [key=value …]

The shards are a stand-in: sparse files of zeros. Beside it stands the same training on a text of a
megabyte. The keys are those of a training with recipe=shakespeare.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from seqkit.data.codecs import Characters
from seqkit.data.shards.index import Index, Shard
from seqkit.data.symbol_files import BLOCK

_SHARD = 1 << 26  # symbols
_LETTERS = "\n abcdefghijklmnopqrstuvwxyz"


def stand_in(folder: Path, size: int) -> None:
    """Shards with so many symbols, all zeros, that take no room on the disk."""
    folder.mkdir()
    shards, hashes = list[Shard](), dict[int, tuple[str, list[str]]]()
    for number, begin in enumerate(range(0, size, _SHARD)):
        count = min(_SHARD, size - begin)
        if count not in hashes:
            hashes[count] = _hashes(count)
        file = folder / f"{number:06}.bin"
        with file.open("wb") as stream:
            stream.truncate(count)
        shards.append(Shard(file.name, count, *hashes[count]))
    spec = Characters.from_text(_LETTERS).to_spec()
    settings = {"kind": "text", "codec": "characters"}
    starts = bytes(8)  # of one document
    (folder / "starts.int64").write_bytes(starts)
    sha256 = hashlib.sha256(starts).hexdigest()
    Index("zeros", spec, settings, "uint8", shards, ["zeros"], [1], sha256).save(folder)


def first_step(data: Path, folder: Path, keys: Sequence[str]) -> tuple[float, float]:
    """Seconds to the first step, and megabytes of memory then; `folder` is the run's."""
    words = ["recipe=shakespeare", f"data.path={data}", f"run_dir={folder}", "device=cpu", *keys]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "seqkit", *words], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("step 1/"):
            seconds = time.perf_counter() - begun
            status = Path(f"/proc/{process.pid}/status").read_text()
            break
        print(line, end="", file=sys.stderr)
    else:
        raise SystemExit(f"the training ended with {process.wait()} before its first step")
    process.kill()
    process.communicate()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return seconds, int(found[1]) / 1000


def table(size: int, keys: Sequence[str]) -> str:
    """A row for a megabyte of text, and one for shards of so many bytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = folder / "text.txt"
        text.write_text((_LETTERS * (1_000_000 // len(_LETTERS) + 1))[:1_000_000])
        stand_in(folder / "shards", size)
        rows = []
        for title, data in (
            ("1 MB of text", text),
            (f"{size / 1e9:g} GB of shards", folder / "shards"),
        ):
            seconds, megabytes = first_step(data, folder / title, keys)
            rows.append(f"{title}: first step after {seconds:.1f} s, {megabytes:.0f} MB")
    return "\n".join(rows)


def _hashes(count: int) -> tuple[str, list[str]]:
    """The sha256 of so many zeros, and of each of their blocks."""
    whole, blocks = hashlib.sha256(), []
    for begin in range(0, count, BLOCK):
        block = bytes(min(BLOCK, count - begin))
        whole.update(block)
        blocks.append(hashlib.sha256(block).hexdigest())
    return whole.hexdigest(), blocks


if __name__ == "__main__":
    print(table(round(1e9 * float(sys.argv[1])), sys.argv[2:]))
