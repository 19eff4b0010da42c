"""Templates become pages: one file each, every value escaped, one style sheet for all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render(name: str, values: Mapping[str, Any]) -> bytes:
    """The page that a template beside this file makes of these values, as UTF-8."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name).render(values).encode("utf-8", "replace")
