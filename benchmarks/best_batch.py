"""A training step against the plain loop, each at the number of lanes where it is fastest.

    python benchmarks/best_batch.py shape=text lanes=128,256,512

prints symbols a second of both for every B, and the ratio of the best: a table of
docs/performance.md. `shape`, and the keys that may follow it, are those of `bench`.
"""

import sys
from collections.abc import Sequence

from seqkit import compose, device, disk
from seqkit.bench import training
from seqkit.errors import ConfigError, SeqkitError
from seqkit.kernels.timing import interleave

ROWS = ("seqkit", "plain")


def rates(
    overrides: Sequence[str], lanes: int, rounds: int, calls: int
) -> tuple[dict[str, float], str]:
    """Symbols a second of both rows at B = lanes, and the kernels of seqkit's."""
    config = compose.compose([*overrides, f"train.batch_size={lanes}"], [])
    chosen = device.choose_device(config.device)
    precisions = device.candidate_precisions(config.train.precision, chosen)
    with device.memory_errors(lambda: "Give fewer lanes."):
        built, choice = training.rows(config, chosen, precisions, disk.cache_dir())
        rows = {name: built[name].build for name in ROWS}
        timings = interleave(rows, chosen, rounds=rounds, calls=calls)
    symbols = lanes * config.train.sequence_length
    return {n: symbols / t.quantile(0.5) * 1000 for n, t in timings.items()}, str(choice.execution)


def table(arguments: Sequence[str], rounds: int = 5, calls: int = 10) -> str:
    """The table for `lanes=…` and overrides of `bench`."""
    given = next((a.partition("=")[2] for a in arguments if a.startswith("lanes=")), "")
    counts = given.split(",")
    if not all(count.isdecimal() for count in counts):
        raise ConfigError(f"lanes={given}: give shape=NAME and lanes=B1,B2,...")
    overrides = [a for a in arguments if not a.startswith("lanes=")]
    if not any(a.startswith("shape=") for a in overrides):
        raise ConfigError("no shape: give shape=NAME")
    best = dict.fromkeys(ROWS, 0.0)
    lines = [f"{'B':>6}{'seqkit':>16}{'plain':>16}  symbols/s"]
    for lanes in map(int, counts):
        found, plan = rates(overrides, lanes, rounds, calls)
        best = {name: max(best[name], found[name]) for name in ROWS}
        lines.append(f"{lanes:>6}{found['seqkit']:>16,.0f}{found['plain']:>16,.0f}  {plan}")
        print(lines[-1], file=sys.stderr)
    lines.append(f"each at its best: {best['seqkit'] / best['plain']:.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        print(table(sys.argv[1:]))
    except SeqkitError as error:
        print(f"best_batch: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
