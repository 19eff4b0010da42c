"""The wasm engine draws by the rule; both of its programs give the same bits, and are built so."""

import itertools
import os
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import torch

from seqkit.foundation.errors import ConfigError
from seqkit.generation.engines import wasm
from seqkit.generation.engines.wasm import WasmEngine
from seqkit.generation.sampler import Drawing, Sampling
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import uniforms
from tests.conftest import completed, environment
from tests.generation.engines.networks import (
    RULES,
    check_draws,
    check_frequencies,
    differences,
    flat,
    in_frames,
    labels_of,
    network,
    random_state,
)

SOURCE = Path(wasm.__file__).parent / "step.c"


def test_the_programs_are_what_the_command_in_the_source_builds(tmp_path: Path) -> None:
    version, command = re.findall(
        r"with ziglang (\S+) .*?\n//   python -m (.*?) step\.c",
        SOURCE.read_text().replace("\n//     -", " -"),
    )[0]
    assert metadata.version("ziglang") == version
    own_cache = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "cache")}
    for name, extra in (("step", ""), ("step_relaxed", "-DRELAXED -mrelaxed-simd")):
        out = tmp_path / f"{name}.wasm"
        words = shlex.split(f"{command} {extra} {SOURCE} -o {out}")
        command_line = [sys.executable, "-m", *words]
        subprocess.run(command_line, check=True, capture_output=True, env=own_cache)
        assert out.read_bytes() == SOURCE.with_name(f"{name}.wasm").read_bytes()


@pytest.mark.parametrize(
    "model",
    [
        network(2, 24, 9),
        network(1, 40, 30, embedding=True),
        network(3, 12, 9, skips=True),
        network(2, 32, 20, embedding=True, labels=3),
        network(3, 24, 9, skips=True, places=2),
        in_frames(4),
        in_frames(3, labels=4),
    ],
    ids=[
        *("one_hot", "embedding", "skips", "labels"),
        *("two_places", "four_places", "three_and_labels"),
    ],
)
def test_logits_are_near_the_models_and_the_same_with_relaxed_simd(model: CharRNN) -> None:
    size = model.config.vocabulary_size - 1
    found = [
        differences(WasmEngine(model, size, relaxed=relaxed), model, size, 2, steps=200)
        for relaxed in (True, False)
    ]
    assert found[0] == found[1]
    logits, state = found[0]
    assert 0 < logits < 0.3  # the head is ten times as large as one that is not trained
    assert state < 0.02


@pytest.mark.parametrize(("places", "fed"), [(2, 1), (4, 1), (4, 3), (3, 2), (5, 0)])
def test_a_step_that_is_under_way_goes_on(places: int, fed: int) -> None:
    model = in_frames(places)
    logits, state = differences(WasmEngine(model, 19), model, 19, streams=2, steps=50, fed=fed)
    assert logits < 0.1
    assert state < 0.02


@pytest.mark.parametrize("places", [1, 3, 4])
def test_blocks_may_be_cut_anywhere_in_a_step(places: int) -> None:
    model = in_frames(places, labels=3)
    engine, state = WasmEngine(model, 19), random_state(model, 2)
    symbols = np.random.default_rng(4).integers(0, 19, (200, 2))
    labels = labels_of(model, 2)
    whole, end = engine.score(symbols, state, labels)
    parts = []
    for begin, stop in itertools.pairwise((0, 1, 3, 6, 11, 150, 200)):
        logits, state = engine.score(symbols[begin:stop], state, labels)
        parts.append(logits)
        assert state.frame.shape[2] == (stop - 1) % places
    assert np.array_equal(np.concatenate(parts), whole)
    for one, other in zip(state, end, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("places", [1, 4])
@pytest.mark.parametrize("sampling", RULES)
def test_symbols_are_drawn_by_the_rule(sampling: Sampling, places: int) -> None:
    model = network(2, 24, 33, places=places)
    check_draws(WasmEngine(model, 33), model, 3, 200, sampling)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("sampling", [Sampling(0.7), Sampling(top_k=8, top_p=0.8)])
def test_symbols_are_as_frequent_as_their_probabilities(sampling: Sampling) -> None:
    model = flat(33)
    check_frequencies(WasmEngine(model, 33), model, 2, sampling)


def test_top_k_keeps_ties_and_takes_any_k() -> None:
    model = network(1, 16, 6)
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.copy_(torch.tensor([1.0, 3.0, 2.0, 2.0, 2.0, 0.0]))
    engine, state = WasmEngine(model, 6), model.zero_state(1)
    draws, first = [np.linspace(0, 0.999, 200)[:, None]], np.zeros(1, np.int64)
    tied = next(engine.sample(Drawing(first, state, draws, Sampling(top_k=2), first)))
    assert set(tied.ravel().tolist()) == {1, 2, 3, 4}
    every = next(engine.sample(Drawing(first, state, draws, Sampling(top_k=1000), first)))
    assert set(every.ravel().tolist()) == {0, 1, 2, 3, 4, 5}
    all_of_it = next(engine.sample(Drawing(first, state, draws, Sampling(top_p=1e-9), first)))
    assert set(all_of_it.ravel().tolist()) == {1}


def test_a_sample_that_is_given_up_leaves_the_engine_to_the_next_one() -> None:
    model = network(2, 16, 6)
    engine, first = WasmEngine(model, 6), np.zeros(1, np.int64)
    draws = [uniforms(3, number, 0, 900)[:, None] for number in range(4)]
    drawing = Drawing(first, model.zero_state(1), draws, Sampling(), first)
    whole = [*engine.sample(drawing)]
    given_up = engine.sample(drawing)
    assert np.array_equal(next(given_up), whole[0])
    del given_up  # while the next block is made
    assert np.array_equal([*engine.sample(drawing)], whole)


INTERRUPTED = """
import itertools, signal
import numpy as np
from seqkit.generation.engines.wasm import WasmEngine
from seqkit.generation.sampler import Drawing, Sampling
from tests.generation.engines.networks import network

model, first = network(1, 16, 5), np.zeros(1, np.int64)
engine, draws = WasmEngine(model, 5), itertools.repeat(np.full((8, 1), 0.5))
signal.signal(signal.SIGALRM, signal.default_int_handler)
for delay in np.random.default_rng(1).uniform(1e-4, 2e-3, 1500):
    blocks = engine.sample(Drawing(first, model.zero_state(1), draws, Sampling(), first))
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        for block in blocks:
            pass
    except KeyboardInterrupt:
        del blocks
"""


def test_a_ctrl_c_at_any_moment_ends_a_sample() -> None:
    done = completed([sys.executable, "-c", INTERRUPTED])
    assert (done.returncode, done.stderr) == (0, "")


LEFT = """
first = np.zeros(100, np.int64)
draws = itertools.repeat(np.full((1000, 100), 0.5))
left = WasmEngine(model, 5).sample(Drawing(first, model.zero_state(100), draws, Sampling(), first))
next(left)
"""


def test_a_program_may_end_while_a_block_is_made() -> None:
    done = completed(
        [sys.executable, "-c", INTERRUPTED.split("signal.signal", maxsplit=1)[0] + LEFT]
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("position", [0, 3, 2**40 + 1])
def test_the_program_has_the_draws_of_seqkit(position: int) -> None:
    engine = WasmEngine(network(1, 16, 5), 5)
    seed, stream = 2**63 - 7, (1 << 33) + 5
    engine._call("uniforms", seed, stream, position, 999)
    found = engine._read(engine._io, 999, "<f8")
    assert np.array_equal(found, uniforms(seed, stream, position, 999))


def test_other_cells_are_refused() -> None:
    with pytest.raises(ConfigError, match="run LSTMs, and this is a gru"):
        WasmEngine(network(1, 16, 5, cell="gru"), 5)


def test_where_addresses_are_few_the_text_is_the_same() -> None:
    """A process that may not reserve the 4 GB within which no access has to be checked."""
    words = "generate checkpoint=shakespeare seed=1 length=60 device=cpu"
    free, bounded = (
        subprocess.run(
            ["bash", "-c", f"{limit} {sys.executable} -m seqkit {words}"],
            check=True, capture_output=True, env=environment(),
        )
        for limit in ("", "ulimit -v 2000000;")
    )  # fmt: skip
    assert len(free.stdout) == 60
    assert bounded.stdout == free.stdout
