"""Train on a text, then continue a prompt.

    python examples/train_on_text.py novel.txt --prompt "It was " train.max_minutes=5

Settings are those of the command line. The run, with its report, is left in runs/shakespeare/.
"""

import argparse

import seqkit
from seqkit import events


def show(event: events.Event) -> None:
    """Print the loss whenever the network has been validated."""
    if isinstance(event, events.Validated):
        note = ", the best so far" if event.improved else ""
        print(f"step {event.step}: {event.bits_per_symbol:.3f} bits per character{note}")


def main() -> None:
    """Train, then write 500 characters."""
    parser = argparse.ArgumentParser(description="Train on a text, then continue a prompt.")
    parser.add_argument("text", help="a text file, or a folder of them")
    parser.add_argument("settings", nargs="*", help="key=value, such as train.max_minutes=5")
    parser.add_argument("--prompt", help="text to continue; its characters must occur in the text")
    given = parser.parse_intermixed_args()

    run = seqkit.train("shakespeare", *given.settings, data=given.text, on_event=show)
    print(f"the run is in {run.path}")

    model = run.load()
    for piece in model.stream(given.prompt, length=500, temperature=0.7):
        print(piece, end="", flush=True)
    print()


if __name__ == "__main__":
    main()
