"""How much of seqkit's speed is the precision: it and plain_best, each in every precision.

    python benchmarks/precisions.py shape=text model.hidden_size=256

prints milliseconds of a training step [10 % to 90 %], and how many times as fast as the plain loop
it is: a table of docs/measured/speed.md. `shape`, and the keys that may follow it, are those of
`bench`.
"""

import sys
from collections.abc import Sequence
from functools import partial

from seqkit import compose
from seqkit.bench import plain, training
from seqkit.foundation import device, machine
from seqkit.foundation.errors import ConfigError, SeqkitError
from seqkit.kernels.timing import Build, interleave


def table(overrides: Sequence[str], rounds: int = 10, calls: int = 10) -> str:
    """The table for overrides of `bench`."""
    config = compose.compose(list(overrides), []).config
    if not config.shape:
        raise ConfigError("no shape: give shape=NAME")
    chosen = device.choose_device(config.device)
    with machine.memory_errors("Try a smaller train.batch_size."):
        builds: dict[str, Build] = {"plain": partial(plain.plain_step, config, chosen)}
        for precision in plain.precisions(chosen):
            best = plain.best_row(config, chosen, [precision])
            rows, _ = training.rows(config, chosen, [precision])
            builds[f"plain_best, {best.variant}"] = best.build
            builds[f"seqkit, {precision}"] = rows["seqkit"].build
        timings = interleave(builds, chosen, rounds=rounds, calls=calls)
    base = timings["plain"].quantile(0.5)
    lines = [f"{config.shape}, {device.describe(chosen)}"]
    for name, timing in timings.items():
        low, median, high = (timing.quantile(share) for share in (0.1, 0.5, 0.9))
        lines.append(f"{name:36}{median:9.2f} ms [{low:.2f} to {high:.2f}]{base / median:8.2f} x")
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        print(table(sys.argv[1:]))
    except SeqkitError as error:
        print(f"precisions: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
