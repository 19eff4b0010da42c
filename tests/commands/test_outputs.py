"""Files and streams of generation: written while symbols are made, and kept when they end early."""

import signal
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from seqkit.commands.interrupts import Interrupts
from seqkit.commands.outputs import Sample
from seqkit.data.codecs import Characters, Codec, MuLaw
from seqkit.foundation.console import Console
from seqkit.generation.medium import medium_of
from seqkit.symbols import Integers

CODEC = Characters("abcdé€", 0)


def blocks(count: int, streams: int) -> Iterator[Integers]:
    """So many blocks of 1000 symbols."""
    generator = np.random.default_rng(1)
    for _ in range(count):
        yield generator.integers(0, CODEC.size, (1000, streams))


def write(made: Iterator[Integers], codec: Codec, files: list[Path]) -> None:
    with Interrupts() as interrupts:
        prompt = np.array([1, 2], np.uint8)
        sample = Sample(medium_of(codec), prompt, 1000, Console(quiet=True), interrupts)
        sample.write_files(sample.watched(made), files, overwrite=False)


def test_memory_does_not_grow_with_the_length(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        write(blocks(count, 2), CODEC, [tmp_path / f"{count}_1.txt", tmp_path / f"{count}_2.txt"])
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(10)  # what is imported and cached
    short, long = peak(20), peak(1000)
    assert long < short + 100_000  # of two million symbols
    text = (tmp_path / "1000_2.txt").read_text()
    assert len(text) == 1_000_002
    expected = np.concatenate([block[:, 1] for block in blocks(1000, 2)])
    assert text == "bc" + CODEC.decode(expected)


@pytest.mark.parametrize(("codec", "suffix"), [(CODEC, "txt"), (MuLaw(6, 4000), "wav")])
def test_files_that_would_hold_nothing_are_removed_and_not_told(
    codec: Codec, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def made() -> Iterator[Integers]:
        signal.raise_signal(signal.SIGINT)  # while the engine is set up
        yield from blocks(1, 2)

    nothing = np.array([], np.uint8)
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        sample = Sample(medium_of(codec), nothing, 1000, Console(), interrupts, 2)
        files = [tmp_path / f"{n}.{suffix}" for n in range(2)]
        sample.write_files(sample.watched(made()), files, overwrite=False)
    assert not list(tmp_path.iterdir())
    assert "written" not in capsys.readouterr().err
