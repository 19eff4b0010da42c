"""Data that cannot be read, that never end, or that are larger than the memory."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.conftest import SENTENCE, SMALL, TINY, Run, Tell, completed
from tests.warm_python import python

pytestmark = pytest.mark.faults
# The C library's read fails in one file, from a place and a time on that it is read there.
BAD_SECTOR = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
ssize_t read(int handle, void *into, size_t size) {
    static ssize_t (*usual)(int, void *, size_t);
    static int times;
    char link[64], path[4096];
    if (!usual) usual = dlsym(RTLD_NEXT, "read");
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        if (!strcmp(path, getenv("BAD_FILE"))
            && lseek(handle, 0, SEEK_CUR) >= atoi(getenv("BAD_AT"))
            && ++times >= atoi(getenv("BAD_FROM"))) {
            errno = EIO;
            return -1;
        }
    }
    return usual(handle, into, size);
}
"""
PEAK = """
import sys
from pathlib import Path
from seqkit.cli import main
code = main(sys.argv[1:])
status = Path("/proc/self/status").read_text()
print(status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
sys.exit(code)
"""
SOUND = [key for key in SMALL if not key.startswith("length=")]


@pytest.fixture(scope="module")
def bad_sector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that stands before the C library."""
    if not shutil.which("cc") or sys.platform != "linux":
        pytest.skip("no C compiler, or not Linux")
    folder = tmp_path_factory.mktemp("library")
    (folder / "read.c").write_text(BAD_SECTOR)
    line = ["cc", "-shared", "-fPIC", "-o", "read.so", "read.c", "-ldl"]
    subprocess.run(line, cwd=folder, check=True)
    return folder / "read.so"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ending", "place", "times"),
    [("txt", 65536, 3), ("txt", 0, 1), *(pytest.param(*case, marks=pytest.mark.every)
     for case in [("txt", 65536, 1), ("txt", 65536, 2), ("wav", 65536, 1), ("wav", 65536, 2),
                  ("flac", 65536, 1), ("flac", 65536, 2), ("txt", 0, 2), ("wav", 0, 1)])],
)  # fmt: skip
def test_a_read_error_in_data_is_told(
    ending: str, place: int, times: int, bad_sector: Path, tmp_path: Path, tell: Tell
) -> None:
    data = tmp_path / f"a.{ending}"
    if ending == "txt":
        data.write_text(SENTENCE * 30_000)
        words = [*TINY, "data.split=[0.99,0.01,0]"]
    else:
        noise = np.random.default_rng(0).uniform(-0.5, 0.5, 200_000)
        soundfile.write(data, noise, 4000)
        words = ["recipe=wav_generation", *SOUND, "data.sample_rate=4000", "seconds=0.01"]
    words += [f"data.path={data}", "run_dir=run", "train.max_steps=1", "train.validate_every=0"]
    clean = {"SEQKIT_CACHE_DIR": str(tmp_path / "cache")}
    bad = {"LD_PRELOAD": str(bad_sector), "BAD_FILE": str(data), "BAD_FROM": str(times)}
    bad["BAD_AT"] = str(place)
    done = completed([sys.executable, "-m", "seqkit", *words], tmp_path, clean | bad)
    assert done.returncode == 3, done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"seqkit: error: {data}: "), done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run" / "config.yaml").exists()
    assert not list((tmp_path / "cache").rglob("*.npy"))
    again = completed([python(), "-m", "seqkit", *words], tmp_path, clean)
    assert again.returncode == 0, again.stderr
    tell("read errors in data", 1)


@pytest.mark.every
def test_a_text_larger_than_the_memory_is_learnt_from(tmp_path: Path, tell: Tell) -> None:
    if shutil.disk_usage(tmp_path).free < 12 * 10**9:
        pytest.skip("it takes 12 GB on the disk")
    data, size = tmp_path / "a.txt", 5 * 10**9
    with data.open("wb") as file:
        file.write(SENTENCE.encode() * 1000)
        file.truncate(size)  # sparse: NULs, which are characters as all others
    words = [*TINY, f"data.path={data}", "run_dir=run", "train.max_steps=1"]
    words += ["data.split=[0.9999999,0.0000001,0]", "train.validate_every=0"]
    cache = {"SEQKIT_CACHE_DIR": str(tmp_path / "cache")}
    done = completed([python(), "-c", PEAK, *words], tmp_path, cache)
    shutil.rmtree(tmp_path / "cache")
    data.unlink()
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.splitlines()[-1]) * 1024 < 0.3 * size
    # A line every ten seconds: on a fast machine not each of them takes so long.
    assert any(title in done.stderr for title in ("hashing", "finding", "encoding"))
    tell("texts of 5 GB", 1)


@pytest.mark.every
def test_a_pipe_into_which_nobody_writes_is_not_waited_for(
    run: Run, tmp_path: Path, tell: Tell
) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused = run.fails(3, *TINY, f"data.path={tmp_path / 'pipe'}", f"run_dir={tmp_path / 'run'}")
    assert "nothing came in 10 s" in refused
    assert not (tmp_path / "run").exists()
    tell("pipes into which nobody writes", 1)


@pytest.mark.parametrize("kind", ["text", "audio", "bytes"])
@pytest.mark.parametrize("place", ["/dev/zero", "/dev/null", "/dev/random", "loop", "folder"])
def test_what_never_ends_is_no_data(
    place: str, kind: str, run: Run, tmp_path: Path, tell: Tell
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "device").symlink_to("/dev/zero")
    (tmp_path / "folder" / "up").symlink_to("..")
    (tmp_path / "loop").symlink_to("loop")
    data = tmp_path / place  # a device is absolute
    words = [f"data.path={data}", f"data.kind={kind}", f"run_dir={tmp_path / 'run'}"]
    refused = run.fails(3, *TINY, *words)
    assert refused.splitlines()[-1].startswith("seqkit: error: ")
    assert not (tmp_path / "run").exists()
    tell("devices and circles as data", 1)
