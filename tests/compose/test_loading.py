"""Configs of several threads at once leave Hydra's state as it was."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hydra.version import VersionBase

from seqkit.compose import loading
from seqkit.foundation.catalogue import Catalogue


class Turn:
    """A lock that tells who waits for it."""

    def __init__(self) -> None:
        self.waiting = threading.Event()
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.waiting.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_thread_that_waits_for_its_turn_puts_back_what_was_there_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn, catalogue, before = Turn(), Catalogue(), VersionBase.instance()
    monkeypatch.setattr(loading, "_TURN", turn)

    def load() -> None:
        with loading.configs(catalogue, []):
            pass

    with ThreadPoolExecutor(1) as other:
        with loading.configs(catalogue, []):
            waits = other.submit(load)
            assert turn.waiting.wait(60)
        waits.result()
    assert VersionBase.instance() is before
