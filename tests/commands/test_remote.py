"""Data at a URL: trained on, resumed and evaluated as files are."""

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import SENTENCE, TINY, Run, process, saved, spawn
from tests.data.stores import Site, site
from tests.warm_python import python

TEXT = SENTENCE.encode() * 40
NOVEL = "/novel.txt"


@pytest.fixture
def served() -> Iterator[Site]:
    with site() as about:
        about.files[NOVEL] = TEXT
        yield about


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds nothing yet."""
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_run_keeps_the_url_of_its_data(run: Run, served: Site, tmp_path: Path) -> None:
    url, folder = served.url + NOVEL, tmp_path / "run"
    words = [*TINY, f"run_dir={folder}", "resume=auto"]
    assert "symbols of novel.txt" in run.ok(*words, f"data.path={url}", "train.max_steps=2").err
    assert saved(folder).config["data"]["path"] == [url]
    run.ok(*words, "train.max_steps=3")
    finished = run(*words, f"data.path={url}", "train.max_steps=3")
    assert "this run is finished" in finished.err
    score = ["evaluate", f"checkpoint={folder}", "device=cpu", "json=true"]
    own = run.ok(*score)
    whole = run(*score, f"data.path={url}")
    assert json.loads(own.out)["data_sha256"] == json.loads(whole.out)["data_sha256"]
    assert served.got == [NOVEL]  # once for all of them


def test_what_is_finished_asks_no_store(run: Run, served: Site, tmp_path: Path) -> None:
    words = [*TINY, f"data.path={served.url}{NOVEL}", "train.max_steps=1", f"run_dir={tmp_path}/b"]
    run.ok(*words)
    served.status = 403
    run.ok(*words, "resume=auto")
    refused = run.fails(3, *TINY, f"data.path={served.url}/b.txt", f"run_dir={tmp_path}/c")
    assert "/b.txt: cannot be read: " in refused


@pytest.mark.usefixtures("cache")
def test_nothing_is_fetched_because_a_checkpoint_names_it(
    run: Run, served: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = served.url + NOVEL
    words = [*TINY, f"data.path={url}", f"run_dir={tmp_path / 'run'}", "train.max_steps=1"]
    run.ok(*words)
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "elsewhere"))
    done = run("evaluate", f"checkpoint={tmp_path / 'run'}", "device=cpu")
    assert (done.code, served.got) == (3, [NOVEL])
    assert f"{url} is not in the cache, and is fetched only if data.path={url} is given" in done.err


@pytest.mark.thorough
def test_a_stop_while_fetching_leaves_no_copy(served: Site, cache: Path, tmp_path: Path) -> None:
    came, go_on = threading.Event(), threading.Event()
    served.cut = 1000

    def wait() -> None:
        came.set()
        go_on.wait()

    served.during = wait
    words = [*TINY, f"data.path={served.url}{NOVEL}", "run_dir=run", "train.max_steps=1"]
    going = spawn([python(), "-m", "seqkit", *words], tmp_path)
    came.wait()
    going.send_signal(signal.SIGINT)
    _, err = going.communicate()
    go_on.set()
    assert (going.returncode, "Traceback" in err) == (130, False), err
    served.cut, served.during = None, lambda: None
    assert process(*words, cwd=tmp_path).returncode == 0
    (copy,) = cache.rglob("novel.txt")
    assert copy.read_bytes() == TEXT
