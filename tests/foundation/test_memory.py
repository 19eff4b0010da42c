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


def left(root: Path) -> list[int]:
    """What each control group leaves, in tenths of a GB."""
    return [round(10 * count / GB) for count in memory._control_groups(root)]


def group_of_v2(most: str, current: float, swap: str = "0") -> dict[str, str]:
    return {
        "memory.max": f"{most}\n",
        "memory.current": f"{int(current * GB)}\n",
        "memory.swap.max": f"{swap}\n",
        "memory.swap.current": "0\n",
        "memory.stat": f"anon 5\ninactive_file {GB // 10}\nactive_file {GB // 10}\n",
    }


def below(path: str, group: dict[str, str]) -> dict[str, str]:
    return {f"{path}/{name}": text for name, text in group.items()}


def test_the_machine_counts_swap_and_what_it_can_give_back(tmp_path: Path) -> None:
    assert memory._machine(files(tmp_path, {})) == pytest.approx(9 * GB, abs=10**6)


def test_every_group_above_the_own_one_counts(tmp_path: Path) -> None:
    root = files(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user/job\n",
            **below("sys/fs/cgroup/user/job", group_of_v2("max", 1)),
            **below("sys/fs/cgroup/user", group_of_v2(f"{3 * GB}", 1)),
        },
    )
    assert left(root) == [22]  # 3 - 1, and a file cache of 0.2


def test_a_container_sees_its_own_group_as_the_outermost(tmp_path: Path) -> None:
    group = group_of_v2(f"{2 * GB}", 0.5, swap="max")
    root = files(
        tmp_path, {"proc/self/cgroup": "0::/docker/abc\n", **below("sys/fs/cgroup", group)}
    )
    assert left(root) == [27]  # 1.5, a cache of 0.2, and the machine's swap


def test_groups_of_the_first_version(tmp_path: Path) -> None:
    group = {
        "memory.limit_in_bytes": f"{4 * GB}\n",
        "memory.usage_in_bytes": f"{GB}\n",
        "memory.memsw.limit_in_bytes": f"{4 * GB}\n",
        "memory.memsw.usage_in_bytes": f"{GB}\n",
        "memory.stat": f"total_inactive_file {GB // 10}\ntotal_active_file {GB // 10}\n",
    }
    own = {**group, "memory.limit_in_bytes": f"{2 * GB}\n"}
    root = files(
        tmp_path,
        {
            "proc/self/cgroup": "9:cpu,cpuacct:/\n4:memory:/a/b\n0::/\n",
            **below("sys/fs/cgroup/memory/a", group),
            **below("sys/fs/cgroup/memory/a/b", own),
        },
    )
    assert left(root) == [22, 32]  # swap is not free: memory and swap have one limit


def test_without_linux_all_memory_counts_as_free(tmp_path: Path) -> None:
    assert not left(tmp_path)
    total = memory._machine(tmp_path)
    assert total is not None
    assert total >= (memory.free_bytes(memory.HOST) or 0)


def test_what_fits_is_found_by_calculation() -> None:
    assert memory.largest(lambda n: n * n, 10_000, below=1000) == 77
    assert memory.largest(lambda n: n * n, None, below=100) == 77  # what failed was too much
    assert memory.largest(lambda n: 10**9, 10_000, below=1000) == 0


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0.0 MB"), (5 * 10**8, "500 MB"), (1500 * 10**6, "1.5 GB"),
                        (21 * GB, "21 GB"), (3 * 10**15, "3.0 PB")],
)  # fmt: skip
def test_bytes_are_readable(count: int, text: str) -> None:
    assert memory.readable(count) == text


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
        ["bench", "shape=text", "model.hidden_size=300000", "device=cpu"],
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
