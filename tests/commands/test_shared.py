"""Checkpoints that others share on the hub, which has a stand-in on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.hub import Hub, hub
from tests.conftest import completed, process, saved
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


def test_a_damaged_copy_is_fetched_again_and_a_whole_one_read_offline(
    served: Hub, trained: Path, tmp_path: Path
) -> None:
    content = (trained / "checkpoints" / "best.safetensors").read_bytes()
    words = ("generate", f"checkpoint={PLACE}", "length=20", "seed=1", "device=cpu")
    for found, told in (
        (content[:-9] + b"damaged!!", "the checkpoint is damaged"),
        (b"<html>no checkpoint</html>", "not a seqkit checkpoint"),
    ):
        served.repositories["ann/rain"] = {"checkpoint.safetensors": found}
        refused = process(*words, cwd=tmp_path)
        assert (refused.returncode, told in refused.stderr) == (4, True), refused.stderr
    served.repositories["ann/rain"] = {"checkpoint.safetensors": content}
    made = process(*words, cwd=tmp_path)
    kept = (file for file in (tmp_path / "hf").rglob("blobs/*") if file.is_file())
    (copy,) = (file for file in kept if file.read_bytes() == content)
    copy.write_bytes(content[:-9] + b"damaged!!")
    assert "fetched again" in process(*words, cwd=tmp_path).stderr
    assert process(*words, cwd=tmp_path).stdout == made.stdout
    served.status = 503
    assert process(*words, cwd=tmp_path).stdout == made.stdout


def test_the_extra_is_named_if_it_is_missing(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "sys.modules['huggingface_hub'] = None\n"
        "from seqkit.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    words = ("generate", f"checkpoint={PLACE}")
    refused = completed([python(), "-c", program, *words], cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
    assert "pip install 'seqkit[remote]'" in refused.stderr
