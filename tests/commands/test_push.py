"""A checkpoint goes to the hub and comes back; the hub is a stand-in on this machine."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from seqkit.commands import push
from seqkit.foundation.catalogue import Catalogue
from seqkit.runs import checkpoint
from tests.commands.hub import TOKEN, Hub, hub
from tests.conftest import Run, completed, process, saved
from tests.data.stores import site
from tests.warm_python import python

PLACE = "hf://ann/rain"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub() as about:
        monkeypatch.setenv("HF_ENDPOINT", about.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "cache"))
        yield about


def test_a_checkpoint_goes_to_the_hub_and_comes_back(
    served: Hub, trained: Path, tmp_path: Path
) -> None:
    words = ("push", f"checkpoint={trained}", f"to={PLACE}", "licence=cc0-1.0")
    pushed = process(*words, cwd=tmp_path)
    assert (pushed.returncode, pushed.stdout.strip()) == (0, PLACE), pushed.stderr
    files = served.repositories["ann/rain"]
    assert files.keys() == {"README.md", "checkpoint.safetensors"}
    assert str(trained.parent).encode() not in files["checkpoint.safetensors"]  # no folders of ours
    (tmp_path / "came.safetensors").write_bytes(files["checkpoint.safetensors"])
    came = checkpoint.load(tmp_path / "came.safetensors", Catalogue())
    own = saved(trained, "best")
    assert all(np.array_equal(came.weights[name], value) for name, value in own.weights.items())
    assert came.config["data"]["path"] == ["text.txt"]
    card = files["README.md"].decode()
    loss = own.metrics["best_validation_loss"]
    for told in (
        "license: cc0-1.0\n",
        f"generate checkpoint={PLACE} length=500",
        "| data | text.txt |",
        "| recipe | shakespeare |",
        "`optimizer.lr=0.02`",
        f"| validation loss, nats per symbol | {loss:.4f} |",
        "| histogram bits per symbol |",
        came.digest,
    ):
        assert told in card
    assert f"digest {came.digest}" in pushed.stderr

    files["README.md"] = b"# My own words"
    again = process(*words, cwd=tmp_path)  # the repository is there by now
    assert again.returncode == 0, again.stderr
    assert "its README.md stays" in again.stderr
    assert served.repositories["ann/rain"]["README.md"] == b"# My own words"
    assert process(*words, "overwrite=true", cwd=tmp_path).returncode == 0
    assert served.repositories["ann/rain"]["README.md"].decode() == card
    for place in (PLACE, f"{PLACE}/checkpoint.safetensors"):
        asked = ("generate", f"checkpoint={place}", "length=20", "seed=1", "device=cpu")
        made = process(*asked, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        assert f"{place}: digest {came.digest}" in made.stderr
    expected = process("generate", f"checkpoint={trained}", *asked[2:], cwd=tmp_path)
    assert made.stdout == expected.stdout
    gets = [line for line in served.asked if "GET" in line and "/resolve/" in line]
    assert len(gets) == 1  # the second one read the copy


def test_refused_pushes_say_what_to_do(
    served: Hub, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("push", f"checkpoint={trained}", f"to={PLACE}")
    monkeypatch.delenv("HF_TOKEN")
    refused = process(*words, cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (6, 1), refused.stderr
    assert f"to={PLACE}: the hub refuses it: give a token" in refused.stderr
    assert not served.repositories
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    served.status = 404
    refused = process(*words, cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (6, 1), refused.stderr
    assert f"to={PLACE}: cannot be uploaded: " in refused.stderr


def test_only_what_says_something_of_the_model_is_public() -> None:
    settings = {
        "recipe": "shakespeare",
        "prompt": "a secret",
        "out": "/home/ann/out.txt",
        "run_dir": "/home/ann/run",
        "init_from": "https://ann:word@site.org/a.safetensors?sig=1",
        "train": {"max_steps": 9, "teachers": ["/home/ann/t1", "hf://ann/t2"]},
        "data": {
            "kind": "auto",
            "path": [
                *("/home/ann/a.txt", "file:///home/ann/b.txt", "zip://c::/home/ann/d.zip"),
                "s3://key:word@bucket/e.txt?sig=2#f",
            ],
        },
    }
    public = push._public(settings)
    assert public["data"]["path"] == ["a.txt", "b.txt", "d.zip", "s3://bucket/e.txt"]
    assert public["init_from"] == "https://site.org/a.safetensors"
    assert public["train"] == {"max_steps": 9, "teachers": ["t1", "hf://ann/t2"]}
    assert public.keys() == {"recipe", "data", "train", "init_from"}


def test_of_a_data_set_on_the_disk_the_name_alone_is_public() -> None:
    folders = ["/home/ann/stories", "./stories", "file:///home/ann/stories"]
    paths = ["ann/stories", "stories", *folders, "https://ann:word@site.org/a.csv"]
    public = push._public({"data": {"kind": "hf", "path": paths}, "init_from": "hf://ann/rain"})
    assert public["data"]["path"] == ["ann/stories", *["stories"] * 4, "https://site.org/a.csv"]
    assert public["init_from"] == "hf://ann/rain"


def test_a_licence_is_a_name_of_the_hubs(run: Run, trained: Path) -> None:
    refused = run.fails_in_a_line(
        2, "push", f"checkpoint={trained}", f"to={PLACE}", "licence='see: LICENSE'"
    )
    assert "cc-by-4.0" in refused


@pytest.mark.parametrize("to", [(), ("to=ann/rain",), ("to=hf://ann",), ("to=hf://a/b/c",)])
def test_what_is_no_repository_is_refused(to: tuple[str, ...], run: Run, trained: Path) -> None:
    refused = run.fails_in_a_line(2, "push", f"checkpoint={trained}", *to)
    assert "give the repository, to=hf://USER/NAME" in refused


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


def test_the_extra_is_named_if_it_is_missing(trained: Path, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "for name in ('fsspec', 'huggingface_hub', 'fsspec.core'):\n"
        "    sys.modules[name] = None\n"
        "from seqkit.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    for words in (
        ("generate", f"checkpoint={PLACE}"),
        ("push", f"checkpoint={trained}", f"to={PLACE}"),
    ):
        refused = completed([python(), "-c", program, *words], cwd=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
        assert "pip install 'seqkit[remote]'" in refused.stderr
