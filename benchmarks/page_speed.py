"""How fast a page runs its model in Chromium, and wasmtime the same program on one core.

    python -m benchmarks.page_speed [key=value …]

trains networks of these shapes for one step, with the given keys, exports them and prints for each
the size of its page, the seconds until it can start, and symbols a second, with relaxed SIMD and
without: in the page, which is not held back to what it plays; the gaps when it is; and in wasmtime,
the whole sampler from the second block on.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import seqkit
from seqkit import cli
from seqkit.foundation.errors import SeqkitError
from seqkit.generation.engine import generate_blocks
from seqkit.generation.engines.wasm import WasmEngine
from seqkit.generation.sampling import Sampling
from tests.browser import Page, browser

_SHAPES = {
    "text, 2 x 384": ("shakespeare",),
    "sound, 2 x 384": ("wav_generation", "model.num_layers=2"),
    "my_sound, 1 x 384": ("my_sound",),
}


def table(keys: Sequence[str], seconds: float = 10, symbols: int = 100_000) -> str:
    """The table: of each shape so many seconds of sound, or so many symbols of text."""
    lines = [f"{'':20}{'MB':>6}{'opens':>8}{'SIMD':>9}{'page':>9}{'gaps':>6}{'wasmtime':>10}"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for shape, (recipe, *own) in _SHAPES.items():
            run, out = folder / shape, folder / "page.html"
            seqkit.train(recipe, *own, *keys, "train.max_steps=1", "device=cpu", f"run_dir={run}")
            words = ["export", f"checkpoint={run}", f"out={out}", "overwrite=true", "quiet=true"]
            if code := cli.main(words):
                sys.exit(code)
            model = seqkit.load(run, device="cpu")
            length = seconds if model.sample_rate else symbols
            for relaxed in (True, False):
                if not relaxed:
                    html = out.read_text()
                    first = html.partition('"programs": ["')[2].partition('"')[0]
                    out.write_text(html.replace(first, "AAAA"))
                with browser(folder / f"{shape} {relaxed}") as page:
                    opened, rate, gaps = _in_page(page, out, length)
                engine = WasmEngine(model.char_rnn, model.codec.size, relaxed=relaxed)
                lines.append(
                    f"{shape:20}{out.stat().st_size / 1e6:6.2f}{opened:6.2f} s"
                    f"{'relaxed' if relaxed else 'plain':>9}{rate:9,.0f}{gaps:6}"
                    f"{_in_wasmtime(engine, model, symbols):10,.0f}"
                )
    return "\n".join(lines)


def _in_page(page: Page, file: Path, length: float) -> tuple[float, float, int]:
    """The seconds until a page can start, its symbols a second, and the gaps in its sound."""
    hurried = file.with_name("hurried.html")
    html = file.read_text().replace("whole(0.3 * UNIT)", "Infinity")
    assert html != file.read_text()
    hurried.write_text(html)
    begun = time.perf_counter()
    page.open(file, width=900)
    page.wait("document.body.dataset.ready")
    opened, found = time.perf_counter() - begun, []
    for own, wanted in ((file, "gaps"), (hurried, "1000 * made / (performance.now() - begun)")):
        page.open(own, width=900)
        page.wait("document.body.dataset.ready")
        page.ask(f"document.querySelector('#length').value = {length}")
        page.point("#start")
        page.wait("made && (ending || !id)")
        found.append(page.ask(wanted))
    gaps, rate = found
    return opened, rate, int(gaps)


def _in_wasmtime(engine: WasmEngine, model: seqkit.Model[object], symbols: int) -> float:
    """Symbols a second."""
    size, state = model.codec.size, model.char_rnn.zero_state(1)
    blocks = generate_blocks(engine, np.zeros((1, size)), state, symbols, Sampling(seed=1))
    made = sum(len(block) for block in itertools.islice(blocks, 2))
    begun = time.perf_counter()
    return (sum(map(len, blocks))) / (time.perf_counter() - begun) if made else 0.0


if __name__ == "__main__":
    try:
        print(table(sys.argv[1:]))
    except SeqkitError as error:
        print(f"page_speed: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
