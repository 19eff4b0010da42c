"""Which tests a command line runs."""

import pytest


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out `every` without `-m faults`, `thorough` without `-m` in files not named."""
    chosen = config.option.markexpr
    named = {(config.invocation_params.dir / word.split("::")[0]).resolve() for word in config.args}
    left = [
        item
        for item in items
        if (item.get_closest_marker("every") and "faults" not in chosen)
        or (item.get_closest_marker("thorough") and not chosen and item.path not in named)
    ]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
