"""Imports go down only: a file uses what stands on lower floors, as docs/architecture.md says."""

import ast
import re
from pathlib import Path

import seqkit

PACKAGE = Path(seqkit.__file__).parent
PAGE = (PACKAGE.parent / "docs" / "architecture.md").read_text()
LEVEL = {
    name: int(floor)
    for floor, names in re.findall(r"^\| (\d+) \| (.*?) \|", PAGE, re.M)
    for name in re.findall(r"`([\w.]+)`", names)
} | {"seqkit": -1, "__main__": 99}


def modules() -> dict[str, Path]:
    """Every module by its dotted name below seqkit."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found[name or "seqkit"] = path
    return found


def imported(path: Path, names: set[str]) -> set[str]:
    """The modules of seqkit that a file imports, at the top or later."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            targets = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
        else:
            continue
        for target in targets:
            if target.startswith("seqkit."):
                name = target.removeprefix("seqkit.")
                found |= {name} & names
            elif target == "seqkit" and isinstance(node, ast.Import):
                found.add("seqkit")
    return found


def room(name: str) -> str:
    """A module, or the folder that is one room."""
    folder = name.partition(".")[0]
    return folder if folder in ("codecs", "datasets") else name


def test_imports_go_down() -> None:
    found = modules()
    for name, path in found.items():
        targets = imported(path, set(found)) - {"commands"}
        if name in ("seqkit", "commands"):
            assert not targets, f"{name} imports nothing"
            continue
        for target in targets:
            if room(name) != room(target):
                assert LEVEL[room(target)] < LEVEL[room(name)], f"{name} imports {target}"


def test_only_the_command_line_knows_hydra() -> None:
    for name, path in modules().items():
        if "hydra" in path.read_text():
            assert name in ("compose", "cli"), name


def test_nothing_is_pickled_evaluated_or_printed_below_the_command_line() -> None:
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "__import__"), name
                assert node.func.id != "print" or name == "cli", name
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                assert "pickle" not in ast.unparse(node), name
