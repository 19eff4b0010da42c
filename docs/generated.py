"""Pages of the site that are made from the code: the commands, and the keys."""

import contextlib
import dataclasses
import io
import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from seqkit import commands
from seqkit.config import Config, options, values_of
from seqkit.foundation.settings import allowed_values

_KEYS = """\
# Keys

A key is set as `key=value`, on the command line or in a recipe. [Commands](commands.md) lists which
command reads which. How
values are written is in [Files](files.md#how-values-are-written).
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, as mkdocs asks of a hook."""
    for name, content in (("commands", commands_page()), ("keys", keys_page())):
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def on_page_content(html: str, **_: object) -> str:
    """A page without empty heads of tables, which screen readers stumble on; mkdocs asks a hook."""
    return re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", html)


def commands_page() -> str:
    """Every command, with what its `--help` prints."""
    parts = [
        "# Commands\n\n`python -m seqkit COMMAND key=value …`; without a command it is `train`.\n"
    ]
    for name in commands.COMMANDS:
        with contextlib.redirect_stdout(io.StringIO()):
            text = commands.keys(name)
        parts.append(f"## {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def keys_page() -> str:
    """Every key with its default, range and meaning, a table a group."""
    parts, group, defaults = [_KEYS], None, values_of(Config())
    for name, item in options():
        own = name.rpartition(".")[0]
        if own != group:
            group = own
            parts.append(f"\n## {own or 'Without a group'}\n\n| key | default | range | meaning |")
            parts.append("|---|---|---|---|")
        parts.append(_row(name, item, defaults[name]))
    return "\n".join(parts) + "\n"


def _row(name: str, item: dataclasses.Field[Any], default: Any) -> str:
    shown = "" if default is None or default == "" else f"`{default}`"
    return f"| `{name}` | {shown} | {allowed_values(item)} | {item.metadata['help']} |"
