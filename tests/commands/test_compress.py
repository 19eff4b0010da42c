"""`compress` and `decompress` as programs: files, pipes, sound, and what is wrong with them."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.foundation import disk
from tests.conftest import SENTENCE, SMALL, Run, environment, fill_disk
from tests.warm_python import python

CONTENT = SENTENCE.encode() * 20 + "naïve \u2603\r\n".encode() + b"\0\xff\xfe" + b"thin"


@pytest.fixture
def packed(run: Run, trained: Path, tmp_path: Path) -> Path:
    """A compressed file."""
    (tmp_path / "text").write_bytes(CONTENT)
    words = [f"checkpoint={trained}", f"data.path={tmp_path / 'text'}", "device=cpu"]
    done = run.ok("compress", *words, f"out={tmp_path / 'text.sq'}")
    assert not done.out
    assert "written: " in done.err
    return tmp_path / "text.sq"


@pytest.fixture(scope="module")
def sound_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny run on sound, beside which its data lie."""
    folder = tmp_path_factory.mktemp("sound")
    times = np.arange(6000) / 4000
    wave = 0.4 * np.sin(2 * np.pi * 220 * times) + np.random.default_rng(1).normal(0, 0.05, 6000)
    soundfile.write(folder / "tone.wav", wave, 4000)
    words = ["recipe=wav_generation", f"data.path={folder / 'tone.wav'}", *SMALL]
    words = [*words, f"run_dir={folder / 'run'}", "train.max_steps=2", "data.sample_rate=4000"]
    from seqkit.cli import main

    assert main(words) == 0
    return folder / "run"


def test_a_file_comes_back_to_the_byte(run: Run, trained: Path, packed: Path) -> None:
    out = packed.with_name("again")
    run.ok("decompress", f"checkpoint={trained}", f"data.path={packed}", f"out={out}")
    assert out.read_bytes() == CONTENT
    assert packed.stat().st_size < len(CONTENT) / 2


def test_what_is_left_to_lzma_is_told(
    run: Run, trained: Path, packed: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").write_bytes("ЖЙ".encode() * 600)  # another language, again and again
    words = [f"checkpoint={trained}", "device=cpu", f"out={tmp_path / 'other.sq'}"]
    done = run("compress", *words, f"data.path={tmp_path / 'other'}")
    assert "2,400 of 2,400 bytes were left to LZMA" in done.err
    assert "less of them than the model\n" in done.err
    known = run("compress", *words, f"data.path={tmp_path / 'text'}", "overwrite=true")
    assert "LZMA" not in known.err


def test_a_pipe_compresses_and_decompresses(trained: Path, tmp_path: Path) -> None:
    program = [python(), "-m", "seqkit"]
    words = [f"checkpoint={trained}", "data.path=-", "out=-", "device=cpu"]
    content = CONTENT
    for command in ("compress", "decompress"):
        done = subprocess.run(
            [*program, command, *words], cwd=tmp_path, env=environment(), input=content,
            capture_output=True, check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        content = done.stdout
    assert content == CONTENT
    assert not list((disk.cache_dir() / "decompressed").iterdir())


@pytest.mark.thorough
def test_sound_comes_back_as_the_wav_of_its_symbols(
    run: Run, sound_run: Path, tmp_path: Path
) -> None:
    source, words = sound_run.with_name("tone.wav"), [f"checkpoint={sound_run}", "device=cpu"]
    waves = []
    for name in ("a", "b"):
        out = tmp_path / f"{name}.wav"
        run.ok("compress", *words, f"data.path={source}", f"out={tmp_path / name}")
        run.ok("decompress", *words, f"data.path={tmp_path / name}", f"out={out}")
        waves.append(out.read_bytes())
        source = out
    assert waves[0] == waves[1]
    wave, rate = soundfile.read(tmp_path / "a.wav")
    assert (len(wave), rate) == (6000, 4000)
    assert np.abs(wave - soundfile.read(sound_run.with_name("tone.wav"))[0]).max() < 0.05
    done = run.fails(
        2, "decompress", *words, f"data.path={tmp_path / 'a'}", f"out={tmp_path / 'a.ogg'}"
    )
    assert "NAME.wav" in done
    soundfile.write(tmp_path / "slow.wav", np.zeros(100), 1)
    assert "says 1 Hz, which is too little for 4000 Hz" in run.fails(
        3, "compress", *words, f"data.path={tmp_path / 'slow.wav'}", f"out={tmp_path / 'c'}"
    )
    assert not (tmp_path / "c").exists()


def test_damage_leaves_nothing_behind(run: Run, trained: Path, packed: Path) -> None:
    content = packed.read_bytes()
    before = set(packed.parent.iterdir())
    for damaged in (content[:-1], content + b"\0", content[:40] + b"?" + content[41:]):
        packed.write_bytes(damaged)
        out = packed.with_name("again")
        done = run.fails(
            3, "decompress", f"checkpoint={trained}", f"data.path={packed}", f"out={out}"
        )
        assert "damaged" in done
        assert set(packed.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["data.path=text"], 2, "no out"),
        (["data.path=text", "data.path=text.sq", "out=x"], 2, "give one file"),
        (["data.path=.", "out=../x"], 2, "a folder"),
        (["data.path=text", "out=nowhere/x"], 6, "nowhere"),
    ],
)
def test_misuse_is_told(
    run: Run,
    trained: Path,
    packed: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    told: str,
) -> None:
    monkeypatch.chdir(packed.parent)
    assert told in run.fails(code, "compress", f"checkpoint={trained}", *words)
    assert not Path("x").exists()


def test_a_full_disk_leaves_nothing_behind(
    run: Run, trained: Path, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = packed.with_name("again")
    with monkeypatch.context() as patch:
        fill_disk(patch, 10)
        words = [f"checkpoint={trained}", f"data.path={packed}"]
        run.fails(6, "decompress", *words, f"out={out}")
    assert sorted(path.name for path in packed.parent.iterdir()) == ["text", "text.sq"]
