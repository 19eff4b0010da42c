"""A page on which the colour of each character shows how much it surprises a model of text.

    python examples/surprise.py runs/a play.txt > surprise.html

A character that the model gives a probability of 1/2 surprises it by 1 bit, one of 1/4 by 2 bits.
"""

import argparse
import html
import math
from pathlib import Path

import seqkit

STEPS = range(10)  # bits; from the last one on a character has the hottest colour
PAGE = """<!DOCTYPE html>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{name}: surprise</title>
<style>
body {{ margin: 1rem auto; max-width: 68rem; padding: 0 1rem; font: 1rem/1.6 system-ui; }}
pre {{ font: .95rem/1.6 ui-monospace, monospace; white-space: pre-wrap; }}
{colours}
</style>
<h1>{name}</h1>
<p>{bits:.3f} bits a character (point at one to see its own): {legend} or more</p>
<pre dir="auto">{text}</pre>
"""


def page(model: seqkit.Model[str], text: str, name: str) -> str:
    """The page of a text, with one element a character."""
    bits = (model.nats(text) / math.log(2)).tolist()
    return PAGE.format(
        name=html.escape(name),
        colours="\n".join(f".s{n} {{ background: rgb(194 65 12 / {7 * n}%); }}" for n in STEPS),
        bits=sum(bits) / max(len(bits), 1),
        legend=" ".join(f'<span class="s{n}">{n}</span>' for n in STEPS),
        text="".join(
            f'<span class="s{min(int(own), STEPS[-1])}" title="{own:.1f}">{html.escape(one)}</span>'
            for one, own in zip(text, bits, strict=True)
        ),
    )


def main() -> None:
    """Print the page of a text."""
    parser = argparse.ArgumentParser(description="A text in the colours of its surprise.")
    parser.add_argument("run", help="a run's folder, a checkpoint's file or a ready-made model")
    parser.add_argument("text", type=Path, help="a text, shown as the model reads it")
    given = parser.parse_args()
    try:
        model, text = seqkit.load(given.run), given.text.read_text("utf-8")
        known = model.codec.decode(model.encode(text, "nearest"))
        print(page(model, known, f"{given.text.name}, {len(known):,} of {len(text):,} characters"))
    except (seqkit.SeqkitError, OSError, ValueError) as error:
        raise SystemExit(f"{given.text}: {error}") from None


if __name__ == "__main__":
    main()
