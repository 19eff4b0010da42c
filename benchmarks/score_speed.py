"""How fast `score` is beside `evaluate`.

    python benchmarks/score_speed.py [key=value …]

prints symbols/s on one text, and their ratio to evaluation's: a table of docs/lab/commands.md. Of
evaluation that is the scoring alone, without baselines; of `score` it is the whole command, without
what it takes to start. The keys are those of a training with recipe=shakespeare, which makes the
network.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import seqkit
from seqkit import cli
from seqkit.evaluation import scoring, streaming
from seqkit.foundation.errors import SeqkitError

_FILES = ("short", "long")


def table(keys: Sequence[str], rounds: int = 3, symbols: int = 200_000) -> str:
    """The table: medians of some rounds, in which every row has its turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = folder / "run"
        seqkit.train("shakespeare", *keys, "train.max_steps=1", f"run_dir={run}")
        model = seqkit.load(run)
        text = model.generate(length=1000, seed=1) * (symbols // 1000)
        (folder / "short.txt").write_text(text[:1000])
        (folder / "long.txt").write_text(text[:symbols])
        rows = {
            "score, lines": ["score", f"out={folder / 'lines.jsonl'}"],
            "score, a page": ["score", f"out={folder / 'page.html'}"],
        }
        part = seqkit.Part.of(model.codec.encode(text[:symbols]))
        rates: dict[str, list[float]] = {row: [] for row in ("evaluate", *rows)}
        for _ in range(rounds):
            begun = time.perf_counter()
            streaming.evaluate(scoring.Scored(model.char_rnn, part, model.codec.start))
            rates["evaluate"].append(symbols / (time.perf_counter() - begun))
            for row, words in rows.items():
                given = [*words, f"checkpoint={run}", "quiet=true", "overwrite=true"]
                times = [_seconds([*given, f"data.path={folder / f}.txt"]) for f in _FILES]
                rates[row].append((symbols - 1000) / (times[1] - times[0]))
    medians = {row: statistics.median(found) for row, found in rates.items()}
    first = next(iter(medians.values()))
    return "\n".join(f"{row:26}{rate:10,.0f} {rate / first:6.2f}" for row, rate in medians.items())


def _seconds(words: list[str]) -> float:
    begun = time.perf_counter()
    if code := cli.main(words):
        sys.exit(code)
    return time.perf_counter() - begun


if __name__ == "__main__":
    try:
        print(table(sys.argv[1:]))
    except SeqkitError as error:
        print(f"score_speed: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
