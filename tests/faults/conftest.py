"""Faults on purpose: a few in every run of the tests, all of them with `pytest -m faults`."""

import random
from collections.abc import Callable

import pytest

Amount = Callable[[int, int], range]


@pytest.fixture
def amount(pytestconfig: pytest.Config) -> Amount:
    """The numbers of the faults to try: so many of so many, and all with `-m faults`."""

    def call(few: int, every: int) -> range:
        return range(every if "faults" in pytestconfig.option.markexpr else few)

    return call


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers, the same at every call of the test."""
    return random.Random(request.node.name)
