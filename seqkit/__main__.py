"""`python -m seqkit`."""

import sys

from seqkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
