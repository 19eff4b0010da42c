"""Imports go down only: a file uses what stands on lower floors, as docs/architecture.md says."""

import ast
from pathlib import Path

import seqkit

PACKAGE = Path(seqkit.__file__).parent
FLOORS = [
    {"seqkit", "errors"},
    {"config", "paths"},
    {"codecs", "randomness", "datasets"},
    {"corpus", "model", "device"},
    {"text", "evaluation", "generation", "checkpoint"},
    {"training", "run_folder", "console"},
    {"commands.material"},
    {"commands.generate", "commands.evaluate", "commands.inspect"},
    {"commands.train"},
    {"compose", "cli", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(FLOORS) for name in names}
SIDEWAYS = {("cli", "compose"), ("__main__", "cli")}


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


def level(name: str) -> int:
    if name.startswith("datasets"):
        name = "datasets"
    return LEVEL[name]


def test_imports_go_down() -> None:
    found = modules()
    for name, path in found.items():
        if name in ("seqkit", "commands"):
            assert not imported(path, set(found)), f"{name} imports nothing"
            continue
        for target in imported(path, set(found)):
            inside = name.startswith("datasets") and target.startswith("datasets")
            if target != "commands" and not inside and (name, target) not in SIDEWAYS:
                assert level(target) < level(name), f"{name} imports {target}"


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
