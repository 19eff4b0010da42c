"""Whom long work talks to: plug-ins, the user, and the other processes."""

from dataclasses import dataclass

from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.ranks import ALONE, Ranks

__all__ = ["Notice", "Session"]


@dataclass(frozen=True)
class Session:
    """What reading data and setting up a training share, whatever is read and trained.

    catalogue: where data sets, codecs and recipes are looked for.
    notice: tells the user.
    progress: shows how far a long task is.
    ranks: the processes that train together; all of them walk through the same stages.
    """

    catalogue: Catalogue
    notice: Notice
    progress: Progress = unseen
    ranks: Ranks = ALONE
