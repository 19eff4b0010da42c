"""How much each character of a text surprises a model, as a table for a spreadsheet.

    python examples/surprise_as_csv.py runs/shakespeare/TIME play.txt > surprise.csv

A character that the model gives a probability of 1/2 surprises it by 1 bit, one of 1/4 by 2 bits.
"""

import argparse
import csv
import json
import math
import subprocess
import sys


def main() -> None:
    """Run the command `score` and write a row of CSV for each of its lines of JSON."""
    parser = argparse.ArgumentParser(description="The surprise of each character as CSV.")
    parser.add_argument("run", help="a run's folder, or a checkpoint's file")
    parser.add_argument("text", help="a text file")
    parser.add_argument("settings", nargs="*", help="key=value, such as device=cpu")
    given = parser.parse_args()

    words = [f"checkpoint={given.run}", f"data.path={given.text}", *given.settings]
    command = [sys.executable, "-m", "seqkit", "score", *words]
    table = csv.writer(sys.stdout)
    table.writerow(["offset", "character", "bits"])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as scoring:
        assert scoring.stdout is not None
        for line in scoring.stdout:
            scored = json.loads(line)
            bits = scored["nats"] / math.log(2)
            table.writerow([scored["offset"], scored["symbol"], f"{bits:.3f}"])
    sys.exit(scoring.returncode)


if __name__ == "__main__":
    main()
