"""`python -m seqkit`."""

import sys

if __name__ == "__main__":
    try:
        from seqkit.cli import entry
    except KeyboardInterrupt:  # before there is anything that could say it
        sys.exit(130)
    entry()
