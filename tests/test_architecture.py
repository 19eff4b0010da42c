"""The rooms: a file imports from its own folder and from those that its row of the page names."""

import ast
import re
import sys
from pathlib import Path

import seqkit

PACKAGE = Path(seqkit.__file__).parent
PAGE = (PACKAGE.parent / "docs" / "how" / "architecture.md").read_text()


def rule() -> dict[str, set[str]]:
    """What each room may import from, as the table of docs/how/architecture.md has it."""
    table = [line.split("|") for line in PAGE.splitlines() if line.startswith("| `")]
    rows = [(re.findall(r"`(\w+)/?`", row[1]), re.findall(r"\w+", row[3])) for row in table]
    ground = set(rows[0][0])
    rooms = {name for names, _ in rows for name in names}
    allowed = {
        name: rooms if "everything" in given else ground | {*given}
        for names, given in rows
        for name in names
    }
    return allowed | dict.fromkeys(ground, ground)


def modules() -> dict[str, Path]:
    """Every module by its dotted name below seqkit."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__") or "seqkit"] = path
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
        found |= {target.removeprefix("seqkit.") for target in targets} & names
    return found - {"seqkit"}


def test_a_room_imports_what_the_page_says() -> None:
    found, allowed = modules(), rule()
    files = {name for name in found if name not in ("seqkit", "__main__")}
    assert {name.partition(".")[0] for name in files} == set(allowed)
    for name in files:
        room = name.partition(".")[0]
        targets = {target.partition(".")[0] for target in imported(found[name], files)}
        assert targets - {room} <= allowed[room], name


def test_the_layers_can_be_used_alone_and_have_one_door() -> None:
    for name, path in modules().items():
        lines = re.findall(r"^ *(?:from|import) (seqkit\.lstm[\w.]*|\w+)", path.read_text(), re.M)
        if name.partition(".")[0] == "lstm":
            others = {line for line in lines if not line.startswith("seqkit.lstm")}
            assert others <= {"torch", "numpy", "cuda", *sys.stdlib_module_names}, name
        else:
            assert {line for line in lines if line.startswith("seqkit.lstm")} <= {"seqkit.lstm"}


def test_the_files_to_add_something_to_are_where_the_page_says() -> None:
    rows = [
        line.split("|") for line in PAGE.partition("## Where to add")[2].splitlines() if "`" in line
    ]
    assert len(rows) > 10
    for row in rows:
        folder = PACKAGE
        for name in re.findall(r"`([\w/]+(?:/|\.py|\.html))`", row[2]):
            found = [path for path in (PACKAGE / name, folder / name) if path.exists()]
            assert found, f"{row[1].strip()}: {name}"
            folder = found[0] if found[0].is_dir() else found[0].parent


def test_no_files_import_each_other_in_a_circle() -> None:
    found = modules()
    left = {name: imported(path, set(found)) for name, path in found.items()}
    # A folder's own page of contents belongs to the files it names.
    left = {
        name: {t for t in targets if t not in left or t != name} for name, targets in left.items()
    }
    while free := {name for name, targets in left.items() if not targets & set(left)}:
        left = {name: targets for name, targets in left.items() if name not in free}
    assert not left, sorted(left)


def test_only_the_command_line_knows_hydra_and_two_files_torchaudio() -> None:
    for name, path in modules().items():
        if "hydra" in path.read_text():
            assert name.partition(".")[0] in ("compose", "cli"), name
            assert "hydra._" not in path.read_text(), name  # what may change without notice
        if re.search(r"^ *(import|from) torchaudio\b", path.read_text(), re.MULTILINE):
            assert name in ("data.sound.reader", "data.sound.pictures"), name


def test_nothing_is_pickled_evaluated_or_printed_below_the_command_line() -> None:
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "__import__"), name
                assert node.func.id != "print" or name == "cli", name
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                assert "pickle" not in ast.unparse(node), name


def test_the_disk_has_one_door() -> None:
    writers = {
        *("mkdir", "mkstemp", "rename", "rmdir", "rmtree", "symlink_to", "touch", "unlink"),
        *("write_bytes", "write_text", "NamedTemporaryFile", "TemporaryDirectory"),
    }
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if name in ("foundation.disk", "lstm.nvrtc") or not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            assert called not in writers or ast.unparse(node).startswith("disk."), (
                f"{name}: {ast.unparse(node)}"
            )
            if called == "open" or (isinstance(node.func, ast.Name) and node.func.id == "open"):
                words = [a.value for a in node.args if isinstance(a, ast.Constant)]
                modes = [word for word in words if isinstance(word, str) and len(word) <= 3]
                to_memory = "wave.open(stream" in ast.unparse(node)
                assert to_memory or not any(set(mode) & set("wax+") for mode in modes), (
                    f"{name}: {ast.unparse(node)}"
                )


def test_generation_and_play_know_no_config() -> None:
    for name, path in modules().items():
        if name.partition(".")[0] in ("generation", "play"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and (node.module or "") == "seqkit.config":
                    assert "Config" not in [alias.name for alias in node.names], name
