"""What is free is known in control groups, too, and what cannot fit is refused in words."""

import subprocess
from pathlib import Path

import pytest

from seqkit.foundation import memory
from seqkit.foundation.errors import DeviceError
from tests.conftest import TINY, Run, environment
from tests.warm_python import python

pytestmark = pytest.mark.faults

GB = 10**9


def files(root: Path, content: dict[str, str]) -> Path:
    """Files of the kind that Linux shows, below `root`."""
    kb = GB // 1000 * 1000 // 1024
    content = {"proc/meminfo": f"MemAvailable: {8 * kb} kB\nSwapFree: {kb} kB\n", **content}
    for name, text in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_the_machine_counts_swap_and_what_it_can_give_back(tmp_path: Path) -> None:
    assert memory._machine(files(tmp_path, {})) == pytest.approx(9 * GB, abs=10**6)


def test_without_linux_all_memory_counts_as_free(tmp_path: Path) -> None:
    total = memory._machine(tmp_path)
    assert total is not None
    assert total >= (memory.free_bytes(memory.HOST) or 0)


def test_what_fits_is_found_by_calculation() -> None:
    assert memory.largest(lambda n: n * n, 10_000, below=1000) == 77
    assert memory.largest(lambda n: n * n, None, below=100) == 77  # what failed was too much
    assert memory.largest(lambda n: 10**9, 10_000, below=1000) == 0


def test_a_refusal_has_both_numbers() -> None:
    with pytest.raises(DeviceError, match=r"it needs at least 3\.0 GB, and 2\.0 GB is free\. No\."):
        memory.require(3 * GB, 2 * GB, "it", lambda: "No.")
    memory.require(2 * GB, 2 * GB, "it", lambda: "No.")
    memory.require(2 * GB, None, "it", lambda: "No.")


@pytest.mark.parametrize(
    ("keys", "fits"),
    [
        (["model.num_layers=1000", "model.hidden_size=3000"], "model.hidden_size="),
        (["model.hidden_size=300000"], "model.hidden_size="),
        (["model.vocabulary_size=1000000", "train.batch_size=3000"], "train.batch_size="),
    ],
)
def test_a_training_that_cannot_fit_is_refused_before_anything_is_made(
    keys: list[str], fits: str, run: Run, text_file: Path, tmp_path: Path
) -> None:
    text_file.write_text(text_file.read_text() * 1000)
    refused = run(*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'run'}", *keys)
    assert refused.code == 5
    assert "this training needs at least" in refused.err
    assert fits in refused.err
    assert refused.err.count("seqkit: error") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "checkpoint={}", "streams=1000000000", "length=5"],
        ["bench", "shape=generate_text", "streams=1000000000", "device=cpu"],
    ],
)
def test_other_commands_refuse_what_cannot_fit(
    arguments: list[str], run: Run, trained: Path
) -> None:
    refused = run(*(argument.format(trained) for argument in arguments))
    assert (refused.code, refused.out) == (5, b"")
    assert "needs at least" in refused.err
    assert "By estimate" in refused.err


def test_a_limit_on_the_address_space_counts(text_file: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    limit = 16 * GB
    arguments = [*TINY, f"data.path={text_file}", f"run_dir={tmp_path / 'run'}"]
    done = subprocess.run(
        [python(), "-m", "seqkit", *arguments, "model.hidden_size=10000"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 5, done.stderr
    assert "needs at least" in done.stderr
    assert not (tmp_path / "run").exists()
