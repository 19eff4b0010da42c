"""Templates become pages: one file each, every value escaped, one style sheet for all."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render(name: str, values: Mapping[str, Any]) -> bytes:
    """The page that a template beside this file makes of these values, as UTF-8."""
    return _environment().get_template(name).render(values).encode("utf-8", "replace")


@functools.cache
def _environment() -> Environment:
    """It keeps what it compiled: a training writes its page again and again."""
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
