"""How fast a CPU trains, reads and generates beside other programs, and with many documents.

    python benchmarks/busy_machine.py model.num_layers=1

prints symbols/s: alone, beside one busy program, and beside as many as there are cores; a table of
docs/lab/training_speed.md. The keys that may follow are those of a training.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import seqkit
from seqkit import cli
from seqkit.foundation.errors import SeqkitError
from seqkit.training.events import Trained

_DOCUMENTS = 85


def table(keys: Sequence[str], rounds: int = 3, steps: int = 100, symbols: int = 50_000) -> str:
    """The table, each figure the median of some rounds.

    Args:
        keys: of `recipe=shakespeare`.
        rounds: in which every row is measured once in every column.
        steps: of every training.
        symbols: that are read.
    """
    cores = len(os.sched_getaffinity(0))
    columns = {"alone": 0, "beside 1": 1, f"beside {cores}": cores}
    with tempfile.TemporaryDirectory() as name:
        rows = _rows(Path(name), [*keys, "device=cpu"], steps, symbols)
        rates: dict[tuple[str, str], list[float]] = {}
        for _ in range(rounds):
            for column, programs in columns.items():
                with _busy(programs):
                    for row, measure in rows.items():
                        rates.setdefault((row, column), []).append(measure())
    lines = [f"{'symbols/s':24}" + "".join(f"{column:>12}" for column in columns)]
    for row in rows:
        medians = [statistics.median(rates[row, column]) for column in columns]
        lines.append(f"{row:24}" + "".join(f"{median:12,.0f}" for median in medians))
    return "\n".join(lines)


def _rows(
    folder: Path, keys: Sequence[str], steps: int, symbols: int
) -> dict[str, Callable[[], float]]:
    """What is measured: each a call that returns symbols/s."""
    run = folder / "run"
    seqkit.train("shakespeare", *keys, "train.max_steps=1", f"run_dir={run}")
    model = seqkit.load(run, device="cpu")
    text = "".join(model.generate(length=500, seed=seed) for seed in range(1 + symbols // 500))
    text = text[:symbols] * 8
    (folder / "one").mkdir()
    (folder / "many").mkdir()
    (folder / "one" / "all.txt").write_text(text)
    size = -(-len(text) // _DOCUMENTS)
    for place in range(_DOCUMENTS):
        (folder / "many" / f"{place:03}.txt").write_text(text[place * size : (place + 1) * size])

    (folder / "read.txt").write_text(text[:symbols])
    evaluate = ["evaluate", f"checkpoint={run}", "quiet=true", "device=cpu"]
    evaluate += [f"data.path={folder / 'read.txt'}", f"out={folder / 'score'}", "overwrite=true"]

    def train(data: str) -> float:
        reports: list[Trained] = []
        seqkit.train(
            "shakespeare",
            *keys,
            f"train.max_steps={steps}",
            f"run_dir={folder / f'run_{time.monotonic_ns()}'}",
            data=folder / data,
            on_event=lambda event: reports.append(event) if isinstance(event, Trained) else None,
        )
        first, last = reports[0], reports[-1]
        return (last.symbols - first.symbols) / (last.seconds - first.seconds)

    def timed(count: int, work: Callable[[], object]) -> float:
        begun = time.perf_counter()
        work()
        return count / (time.perf_counter() - begun)

    return {
        "train, 1 document": lambda: train("one"),
        f"train, {_DOCUMENTS} documents": lambda: train("many"),
        "evaluate, 1 document": lambda: timed(symbols, lambda: cli.main(evaluate)),
        "read a prompt": lambda: timed(symbols, lambda: model.generate(text[:symbols], length=1)),
        "generate, 1 stream": lambda: timed(2000, lambda: model.generate(length=2000, seed=1)),
    }


@contextlib.contextmanager
def _busy(programs: int) -> Iterator[None]:
    """So many programs that compute all the time."""
    command = [sys.executable, "-c", "while True: pass"]
    with contextlib.ExitStack() as stack:
        for _ in range(programs):
            stack.callback(stack.enter_context(subprocess.Popen(command)).kill)
        yield


if __name__ == "__main__":
    try:
        print(table(sys.argv[1:]))
    except SeqkitError as error:
        print(f"busy_machine: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
