"""Run as a process of several: the command of another version of seqkit."""

import seqkit
from seqkit import cli

if __name__ == "__main__":
    seqkit.__version__ = "0.0.1"
    cli.entry()
