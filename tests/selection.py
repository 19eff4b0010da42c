"""Which tests a command line runs."""

from collections import Counter

import pytest


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out `thorough` without `-m` in files that are not named.

    Of a test that is `thorough(keep=N)` the first N cases stay.
    """
    chosen = config.option.markexpr
    named = {(config.invocation_params.dir / word.split("::")[0]).resolve() for word in config.args}
    cases: Counter[str] = Counter()

    def is_thorough(item: pytest.Item) -> bool:
        marks = [*item.iter_markers("thorough")]
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        return any(cases[test] > mark.kwargs.get("keep", 0) for mark in marks)

    left = [item for item in items if not chosen and item.path not in named and is_thorough(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
