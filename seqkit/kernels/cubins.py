"""Compiled kernels are kept in the cache, so that the next process need not compile them again."""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence

from seqkit.foundation import disk
from seqkit.foundation.errors import OutputError

_DIGEST = hashlib.sha256().digest_size


def cached(made_of: Sequence[str], compiled: Callable[[], bytes]) -> bytes:
    """A kernel's machine code from the cache, else what `compiled` returns, which is then kept.

    `made_of` is all that the code depends on. An entry begins with a digest of that and of the
    code: one that is damaged, or another's, is made again. Any number of processes may do so at
    once. Where the cache cannot be read or written, every process compiles.
    """
    key = hashlib.sha256(json.dumps([*made_of]).encode()).digest()
    file = disk.cache_dir() / "kernels" / f"{key.hex()[:32]}.cubin"
    with contextlib.suppress(OSError):
        digest, code = (content := file.read_bytes())[:_DIGEST], content[_DIGEST:]
        if digest == hashlib.sha256(key + code).digest():
            os.utime(file)  # it is in use: see corpus_cache.evict
            return code
    code = compiled()
    # Not synced to the disk: what a crash leaves of it does not fit its digest.
    with contextlib.suppress(OutputError), disk.scratch(file) as (stream, temporary):
        stream.write(hashlib.sha256(key + code).digest() + code)
        stream.flush()
        disk.rename(temporary, file)
    return code
