"""What is read of a folder, what is left out, and that neither happens in silence."""

import contextlib
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqkit.config import Config, DataConfig
from seqkit.data.file_search import Search
from seqkit.foundation.config_file import to_yaml
from seqkit.foundation.errors import DataError

pytestmark = pytest.mark.faults

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def search(
    kind: str = "text", pattern: str = "", encoding: str = "utf-8", skip: bool = False
) -> Search:
    on_bad_file = "skip" if skip else "error"
    return Search(DataConfig(pattern=pattern, encoding=encoding, on_bad_file=on_bad_file), kind)


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree as it lies on a disk."""
    return fill(
        tmp_path / "tree",
        {
            "Makefile": b"all:\n",
            "src/main.c": b"int main;\n",
            "src/main.h": b"int main;\n",
            "src/main.o": b"\x7fELF\2\1\1\0\xff\x1b$B",
            "src/deep/Other.C": b"int other;\n",
            "UP.TXT": b"a NUL \0 in a file that is named as text\n",
            "logo.png": PNG,
            "packed.gz": b"\x1f\x8b\x08\x08\xff\x0e",
            "empty.c": b"",
            ".git/HEAD": b"ref: refs/heads/main\n",
            "._main.c": b"from a Mac\n",
            ".hidden.txt": b"hidden\n",
        },
    )


def test_text_is_known_by_its_content(tree: Path) -> None:
    found = search()
    named = found.named([tree])
    assert [*named] == ["Makefile", "UP.TXT", "src/deep/Other.C", "src/main.c", "src/main.h"]
    known = "1 not text but a picture, 1 not text but a packed file, or a document, 1 not text"
    assert found.note(5) == f"5 files of text taken; left out: 3 hidden, 1 empty, {known}"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.c,*.h", ["src/deep/Other.C", "src/main.c", "src/main.h"]),
        (" *.C , make*", ["Makefile", "src/deep/Other.C", "src/main.c"]),
        ("src/main.*", ["src/main.c", "src/main.h", "src/main.o"]),
        ("*.o", ["src/main.o"]),  # whatever is in it
    ],
)
def test_a_pattern_chooses(pattern: str, names: list[str], tree: Path) -> None:
    found = search(pattern=pattern)
    assert [*found.named([tree])] == names
    assert f"not {pattern}" in found.note(len(names))


def test_runs_are_no_data(tree: Path) -> None:
    config = to_yaml(Config()).encode()
    saved = b'\0\0{"__metadata__":{"seqkit":"'
    fill(tree / "runs" / "a", {"config.yaml": config, "checkpoints/last.safetensors": saved})
    fill(tree / "runs", {"notes.txt": b"mine", "a.log": b"of a sweep", "b.log": b"mine"})
    chosen = search()
    assert "runs/notes.txt" in (names := list(chosen.named([tree])))
    assert not [name for name in names if name.startswith("runs/a")]
    assert (chosen.left_out["with a run in it"], chosen.left_out["the log of a run"]) == (1, 1)


def test_sound_goes_by_its_name_and_bytes_by_nothing(tmp_path: Path) -> None:
    fill(tmp_path, {"a.WAV": b"", "b.flac": b"x", "c.md": b"x", "._a.wav": b"x", "d": b""})
    found = search("audio")
    assert [*found.named([tmp_path])] == ["a.WAV", "b.flac"]
    assert found.note(2) == "left out: 1 hidden, 2 not named as sound"
    found = search("bytes")
    assert [*found.named([tmp_path])] == ["b.flac", "c.md"]
    assert found.note(2) == "2 files taken; left out: 1 hidden, 2 empty"


def test_links_are_followed_once(tmp_path: Path) -> None:
    tree = fill(tmp_path / "tree", {"b/c.txt": b"c", "z/y.txt": b"y"})
    fill(tmp_path / "other", {"o.txt": b"o"})
    for link, target in {"a": "b", "b/up": "..", "o": "../other", "f.txt": "b/c.txt"}.items():
        (tree / link).symlink_to(target)
    found = search()
    assert [*found.named([tree])] == ["f.txt", "o/o.txt", "z/y.txt"]
    assert found.left_out == {"linked in a circle or twice": 2, "given twice": 1}
    assert [*search().named([tree / "a"])] == ["c.txt"]


def test_what_is_not_there_is_refused_with_what_was_meant(tmp_path: Path) -> None:
    fill(tmp_path, {"one.txt": b"a text"})
    said = r"on\.txt: cannot be read: no such file or directory: did you mean .*/one\.txt\?"
    with pytest.raises(DataError, match=said):
        search().named([tmp_path / "on.txt"])
    (tmp_path / "gone.txt").symlink_to(".git/annex/objects/nowhere")
    with pytest.raises(DataError, match=r"gone\.txt: .*a link to \.git/.*`git annex get`"):
        search().named([tmp_path])
    assert [*search(skip=True).named([tmp_path])] == ["one.txt"]


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    fill(tmp_path, {"a.txt": b"a"})
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "device.txt").symlink_to("/dev/zero")
    with contextlib.chdir(tmp_path), socket.socket(socket.AF_UNIX) as opened:
        opened.bind("socket.txt")
    found = search()
    assert [*found.named([tmp_path])] == ["a.txt"]
    assert found.left_out == {"neither file nor folder": 3}
    for name in ("pipe.txt", "device.txt", "socket.txt"):
        with pytest.raises(DataError, match=f"{name} is neither a file nor a folder"):
            search().named([tmp_path / name])


def test_a_file_is_read_once(tmp_path: Path) -> None:
    fill(tmp_path, {"a/x.txt": b"x", "a/y.txt": b"y", "b/x.txt": b"other"})
    (tmp_path / "link").symlink_to("a")
    found = search()
    named = found.named([tmp_path / name for name in ("a/y.txt", "a", "b", "link", "b/../a/x.txt")])
    assert [*named] == ["1/y.txt", "2/x.txt", "3/x.txt"]
    assert found.note(3) == "3 files of text taken; left out: 4 given twice"


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """Be somebody whom permissions bind: the super-user may read everything."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("locked", ["b.txt", "deep"])
def test_what_cannot_be_read_is_named_or_left_out_by_name(locked: str) -> None:
    with tempfile.TemporaryDirectory() as place:  # that of pytest is closed to others
        folder = fill(Path(place), {"a.txt": b"a", "b.txt": b"b", "deep/c.txt": b"c"})
        folder.chmod(0o755)
        (folder / locked).chmod(0)
        with ordinary_user():
            with pytest.raises(DataError) as caught:
                search().named([folder])
            found = search(skip=True)
            taken = [*found.named([folder])]
        if locked == "deep":
            (folder / locked).chmod(0o755)  # to be removed
    assert taken == [x for x in ("a.txt", "b.txt", "deep/c.txt") if not x.startswith(locked)]
    reason = "permission denied"
    hint = "data.on_bad_file=skip leaves such files out"
    assert str(caught.value) == f"{folder / locked}: cannot be read: {reason}; {hint}"
    assert f"; 1 cannot be read: {folder / locked} ({reason})" in found.note(len(taken))
