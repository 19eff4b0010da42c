"""The rooms: a file imports from its own folder and from those that its row of the page names."""

import ast
import re
from pathlib import Path

import seqkit

PACKAGE = Path(seqkit.__file__).parent
WITHOUT_PYTORCH = [
    "api.model",
    "cli",
    "commands.compare",
    "commands.export",
    "commands.generate",
    "commands.inspect",
    "commands.play",
    "commands.report",
    "compose",
    "config",
    "data.codecs",
    "evaluation.recording",
    "generation.continuation",
    "generation.engines.wasm",
    "model.arrays",
    "model.state",
    "play",
    "advice.run_page",
    "runs.checkpoint",
    "runs.named_checkpoint",
    "runs.record",
    "symbols",
]
"""Rooms and files that import it only within functions, for a GPU, the torch engine or to learn."""
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


def test_six_values_in_a_row_have_names_in_generation() -> None:
    generation = {n: path for n, path in modules().items() if n.startswith("generation.")}
    for name, path in generation.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                given = [argument.arg for argument in node.args.args]
                assert len([word for word in given if word != "self"]) < 6, f"{name}: {node.name}"
            if isinstance(node, ast.Call) and not ast.unparse(node.func).endswith("reshape"):
                assert len(node.args) < 6, f"{name}: {ast.unparse(node)}"


def test_an_array_has_one_name_and_a_name_one_meaning() -> None:
    found: dict[str, list[str]] = {}
    for name, path in modules().items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and "npt.NDArray" in ast.unparse(node.value):
                found.setdefault(ast.unparse(node.targets[0]), []).append(name)
    assert found["Floats"] == ["symbols"]
    assert not {alias: names for alias, names in found.items() if len(names) > 1}


def test_only_the_command_line_knows_hydra_and_one_file_torchaudio() -> None:
    for name, path in modules().items():
        if "hydra" in path.read_text():
            assert name.partition(".")[0] in ("compose", "cli"), name
            assert "hydra._" not in path.read_text(), name  # what may change without notice
        if re.search(r"^ *(import|from) torchaudio\b", path.read_text(), re.MULTILINE):
            assert name == "data.sound.resample", name


def imported_at_once(path: Path) -> set[str]:
    """What a file imports when it is imported, each dotted name with those of its packages."""
    found, left = set[str](), [*ast.parse(path.read_text()).body]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, (ast.If, ast.Try)) and "TYPE_CHECKING" not in ast.unparse(node):
            left += ast.iter_child_nodes(node)  # type: ignore[arg-type]
    parts = [name.split(".") for name in found]
    return {".".join(each[:end]) for each in parts for end in range(1, len(each) + 1)}


def test_a_cpu_generates_inspects_and_shows_without_pytorch() -> None:
    found = modules()
    at_once = {name: imported_at_once(path) for name, path in found.items()}
    slow = {name for name, targets in at_once.items() if targets & {"torch", "safetensors.torch"}}
    while new := {n for n, t in at_once.items() if t & {f"seqkit.{m}" for m in slow}} - slow:
        slow |= new
    assert {"training.step", "commands.train", "api.train"} <= slow
    for name in WITHOUT_PYTORCH:
        inside = {own for own in found if f"{own}.".startswith(f"{name}.")}
        assert inside and not inside & slow, (name, inside & slow)


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
            if name in ("foundation.disk", "foundation.locks") or not isinstance(node, ast.Call):
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
