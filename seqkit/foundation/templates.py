"""HTML pages out of Jinja's templates."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render(template: Path, values: Mapping[str, Any]) -> bytes:
    """The page that a template makes of values, as UTF-8.

    It is one file, every value in it escaped; templates beside this one can be included.
    """
    page = _environment(template.parent).get_template(template.name)
    return page.render(values).encode("utf-8", "replace")


@functools.cache
def _environment(folder: Path) -> Environment:
    """It keeps what it compiled: a training writes its page again and again."""
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False}
    return environment
