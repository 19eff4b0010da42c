"""How the processes that torchrun started for one command come together."""

import contextlib
import datetime
import secrets
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import ConfigError, SeqkitError, expected
from seqkit.foundation.processes import Place
from seqkit.foundation.ranks import ALONE, Ranks
from seqkit.foundation.workers import within

_TIMEOUT = datetime.timedelta(days=1)  # a process may validate, or read data, while others wait
_MEETING = 0.02  # seconds between looks at who has come


@contextlib.contextmanager
def joined(place: Place, advice: str = "", progress: Progress = unseen) -> Iterator[Ranks]:
    """Join the processes that were started for one command; a process alone joins nothing.

    `advice` is what the user can do when another process has ended; `progress` shows that the
    others are waited for.

    Raises:
        ConfigError: the processes cannot reach each other.
        KeyboardInterrupt: a signal came while the others were waited for.
        SystemExit: this process does not lead, and failed: rank 0 tells.
    """
    if place.size == 1:
        yield ALONE
        return
    with progress("waiting for the other processes"):
        store = within(None, lambda: _connected(place))  # in C++, which hears no signal
    ranks = Ranks(place, store, advice)
    try:
        yield ranks
    except (SeqkitError, KeyboardInterrupt) as error:
        ranks.leave(error)
    except BrokenPipeError:  # nobody reads what rank 0 prints
        raise
    except (OSError, MemoryError) as error:
        ranks.leave(expected(error))


def _connected(place: Place) -> Store:
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    try:
        left: Store = next(rendezvous("env://"))[0]
        store = PrefixStore(name_of_start(left, place), left)
        dist.init_process_group(
            backend,
            store=PrefixStore("group", store),
            rank=place.rank,
            world_size=place.size,
            timeout=_TIMEOUT,
        )
    except (RuntimeError, ValueError) as error:
        said = str(error).strip().partition("\n")[0]
        raise ConfigError(
            f"no way to the other {place.size - 1} process(es): {said}. Is the port in use "
            "(torchrun --master-port=…), are all machines reachable?"
        ) from error
    return store


def name_of_start(store: Store, place: Place) -> str:
    """A name that the processes of this start have in common, and no earlier ones had.

    Where torchrun starts processes again, its store still has what those that ended left there,
    their addresses for instance. So rank 0 answers each greeting until the one who waits for that
    very answer has confirmed it.
    """
    own = secrets.token_hex(8)
    if not place.leads:
        store.set(f"greeting {place.rank}", own)
        found = str(store.get(f"answer to {own}").decode())
        store.set(f"confirmed {found} {place.rank}", "")
        return found
    missing = set(range(1, place.size))
    while missing:
        for rank in sorted(missing):
            if store.check([f"greeting {rank}"]):
                store.set(f"answer to {store.get(f'greeting {rank}').decode()}", own)
            if store.check([f"confirmed {own} {rank}"]):
                missing.remove(rank)
        time.sleep(_MEETING)
    return own
