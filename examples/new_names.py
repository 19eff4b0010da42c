"""Names, or other lines, that do not stand in the list that a model learnt.

    python -m seqkit recipe=names data.path=names.txt run_dir=runs/names
    python examples/new_names.py runs/names names.txt --count 20

The same seed gives the same names.
"""

import argparse
import sys
from pathlib import Path

import seqkit

ROUNDS, STREAMS = 50, 20


def main() -> None:
    """Print as many new names as are asked for, each once."""
    parser = argparse.ArgumentParser(description="Names that are not in the list.")
    parser.add_argument("run", help="a run's folder, or a checkpoint's file")
    parser.add_argument("list", help="the text file that it learnt")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()

    known = {"", *Path(given.list).read_text(encoding="utf-8").split("\n")}
    model = seqkit.load(given.run)
    if not model.config["model"]["ends"]:
        sys.exit(f"{given.run} has not learnt where a name ends: train it with recipe=names")
    new = dict[str, None]()
    for seed in range(given.seed, given.seed + ROUNDS):
        for name in model.generate_many(STREAMS, until="document", seed=seed):
            if str(name) not in known and len(new) < given.count:
                new[str(name)] = None
        if len(new) == given.count:
            break
    print("\n".join(new))
    if len(new) < given.count:
        sys.exit(f"{ROUNDS * STREAMS} names had {len(new)} new ones: the model knows little else")


if __name__ == "__main__":
    main()
