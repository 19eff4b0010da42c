"""How much of a sample stands in a text word for word, and the longest passage that does.

    python -m seqkit generate checkpoint=runs/a length=100000 temperature=0.5 out=sample.txt
    python examples/recited.py sample.txt play.txt

Passages count from 50 characters on: shorter ones are often the same by chance.
"""

import argparse
from collections import defaultdict
from pathlib import Path

RUN = 50


def recited(sample: str, text: str) -> tuple[list[bool], int]:
    """Whether each character of a sample lies in a passage of the text, and the longest passage."""
    places = defaultdict[str, list[int]](list)
    for place in range(len(sample) - RUN + 1):
        places[sample[place : place + RUN]].append(place)
    known, longest, before = [False] * len(sample), 0, dict[int, int]()
    for begin in range(len(text) - RUN + 1):
        found = places.get(text[begin : begin + RUN], ())
        before = {place: before.get(place - 1, RUN - 1) + 1 for place in found}
        for place, length in before.items():
            known[place : place + RUN] = [True] * RUN
            longest = max(longest, length)
    return known, longest


def main() -> None:
    """Print the share and the longest passage."""
    parser = argparse.ArgumentParser(description="How much of a sample stands in a text.")
    parser.add_argument("sample", type=Path, help="the text file of a sample, without its prompt")
    parser.add_argument("text", type=Path, help="the text file that the model learnt")
    given = parser.parse_args()

    sample, text = (file.read_text("utf-8", "replace") for file in (given.sample, given.text))
    known, longest = recited(sample, text)
    share = sum(known) / max(len(known), 1)
    print(f"{share:.0%} stands in the text word for word, {longest} characters at most in a row")


if __name__ == "__main__":
    main()
