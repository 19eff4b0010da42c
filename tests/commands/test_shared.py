"""Checkpoints that others share, on the hub or at a URL; both are stand-ins on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.hub import Hub, hub
from tests.conftest import Run, completed, process, saved
from tests.data.stores import site
from tests.warm_python import python

PLACE = "hf://ann/rain"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub() as about:
        monkeypatch.setenv("HF_ENDPOINT", about.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "cache"))
        yield about


def test_a_checkpoint_of_the_hub_is_fetched_once(
    served: Hub, trained: Path, tmp_path: Path
) -> None:
    content = (trained / "checkpoints" / "best.safetensors").read_bytes()
    served.repositories["ann/rain"] = {"checkpoint.safetensors": content, "README.md": b"words"}
    words = ("length=20", "seed=1", "device=cpu")
    expected = process("generate", f"checkpoint={trained}", *words, cwd=tmp_path)
    digest = saved(trained, "best").digest
    for place in (PLACE, f"{PLACE}/checkpoint.safetensors"):
        made = process("generate", f"checkpoint={place}", *words, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        assert made.stdout == expected.stdout
        assert f"{place}: digest {digest}" in made.stderr
    gets = [line for line in served.asked if "GET" in line and "/resolve/" in line]
    assert len(gets) == 1  # the second one read the copy


def test_what_is_not_on_the_hub_is_no_checkpoint(served: Hub, tmp_path: Path) -> None:
    served.repositories["ann/empty"] = {"README.md": b"words"}
    for place in ("hf://ann/none", "hf://ann/empty"):
        refused = process("generate", f"checkpoint={place}", cwd=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (4, 1), refused.stderr
        assert f"{place}/checkpoint.safetensors" in refused.stderr
    served.status = 401
    refused = process("generate", "checkpoint=hf://ann/empty", cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (4, 1), refused.stderr


def test_a_checkpoint_at_a_url_is_read_whole_or_refused(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "cache"))
    content = (trained / "checkpoints" / "best.safetensors").read_bytes()
    with site() as about:
        about.files |= {"/a.safetensors": content, "/b.safetensors": content[:-9] + b"damaged!!"}
        about.files["/c.safetensors"] = b"<html>no checkpoint</html>"
        words = ("length=20", "seed=1", "device=cpu")
        made = run.ok("generate", f"checkpoint={about.url}/a.safetensors", *words)
        assert made.out == run("generate", f"checkpoint={trained}", *words).out
        digest = saved(trained, "best").digest
        assert f"a.safetensors: digest {digest}" in made.err
        for name, told in (
            ("b.safetensors", "the checkpoint is damaged"),
            ("c.safetensors", "not a seqkit checkpoint"),
            ("none.safetensors", "none.safetensors: "),
        ):
            refused = run.fails_in_a_line(
                4, "generate", f"checkpoint={about.url}/{name}", "quiet=true"
            )
            assert told in refused
        about.files["/b.safetensors"] = content  # the damaged copy is not kept
        assert run("generate", f"checkpoint={about.url}/b.safetensors", *words).out == made.out
        about.cut = 1000
        about.files["/d.safetensors"] = content + b""
        run.fails(4, "generate", f"checkpoint={about.url}/d.safetensors", "quiet=true")
        refused = run.fails_in_a_line(2, "generate", f"checkpoint={about.url}/folder", "quiet=true")
        assert "give the URL of a file *.safetensors" in refused
    offline = run("generate", f"checkpoint={about.url}/a.safetensors", *words)
    assert offline.out == made.out, offline.err
    assert "read from its copy" in offline.err


def test_the_extra_is_named_if_it_is_missing(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "for name in ('fsspec', 'huggingface_hub', 'fsspec.core'):\n"
        "    sys.modules[name] = None\n"
        "from seqkit.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    words = ("generate", f"checkpoint={PLACE}")
    refused = completed([python(), "-c", program, *words], cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
    assert "pip install 'seqkit[remote]'" in refused.stderr
