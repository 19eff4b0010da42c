"""A training step against plain loops, each at the number of lanes where it is fastest.

    python benchmarks/best_batch.py shape=text lanes=128,256,512

prints symbols a second of each for every B, and the ratios of the best: a table of
docs/measured/speed.md. `shape`, and the keys that may follow it, are those of `bench`.
"""

import sys
from collections.abc import Sequence
from functools import partial

from seqkit import compose
from seqkit.bench import plain, training
from seqkit.foundation import device, machine
from seqkit.foundation.errors import ConfigError, SeqkitError
from seqkit.kernels.timing import Build, interleave

LOOPS = ("plain", "plain_best")


def rates(
    overrides: Sequence[str], lanes: int, rounds: int, calls: int
) -> tuple[dict[str, float], str]:
    """Symbols a second of seqkit and LOOPS at B = lanes, and how seqkit and plain_best ran."""
    config = compose.compose([*overrides, f"train.batch_size={lanes}"], []).config
    chosen = device.choose_device(config.device)
    precisions = device.candidate_precisions(config.train.precision, chosen)
    with machine.memory_errors("Give fewer lanes."):
        rows, execution = training.rows(config, chosen, precisions)
        best = plain.best_row(config, chosen, plain.precisions(chosen))
        builds: dict[str, Build] = {
            "seqkit": rows["seqkit"].build,
            "plain": partial(plain.plain_step, config, chosen),
            "plain_best": best.build,
        }
        timings = interleave(builds, chosen, rounds=rounds, calls=calls)
    symbols = lanes * config.train.sequence_length
    found = {name: symbols / timing.quantile(0.5) * 1000 for name, timing in timings.items()}
    return found, f"{execution}; {best.variant}"


def table(arguments: Sequence[str], rounds: int = 5, calls: int = 10) -> str:
    """The table for `lanes=…` and overrides of `bench`."""
    given = next((a.partition("=")[2] for a in arguments if a.startswith("lanes=")), "")
    counts = given.split(",")
    if not all(count.isdecimal() for count in counts):
        raise ConfigError(f"lanes={given}: give shape=NAME and lanes=B1,B2,...")
    overrides = [a for a in arguments if not a.startswith("lanes=")]
    if not any(a.startswith("shape=") for a in overrides):
        raise ConfigError("no shape: give shape=NAME")
    names = ("seqkit", *LOOPS)
    best = dict.fromkeys(names, 0.0)
    lines = [f"{'B':>6}" + "".join(f"{name:>16}" for name in names) + "  symbols/s"]
    for lanes in map(int, counts):
        found, how = rates(overrides, lanes, rounds, calls)
        best = {name: max(best[name], found[name]) for name in names}
        lines.append(f"{lanes:>6}" + "".join(f"{found[name]:>16,.0f}" for name in names))
        lines[-1] += f"  {how}"
        print(lines[-1], file=sys.stderr)
    ratios = (f"seqkit / {name} {best['seqkit'] / best[name]:.2f}" for name in LOOPS)
    lines.append(f"each at its best: {', '.join(ratios)}")
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        print(table(sys.argv[1:]))
    except SeqkitError as error:
        print(f"best_batch: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
