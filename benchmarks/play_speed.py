"""How soon a server of `play` answers, and how soon it stops.

    python -m benchmarks.play_speed [key=value …]

starts `python -m seqkit play` on the CPU with these keys and prints: from a request, and from a
click in Chromium, to the first character or the first sample that is played, medians of some; the
gaps in a minute of the étude; for how long the server computes on after its client has gone; and
of twenty clients at once the time of the first character and of the last, of the first and the last
of them, with the memory of the server before and after.
"""

import os
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.browser import Page, browser
from tests.play.conftest import Server, serving

# Nothing sounds in a page before a real click in it.
_WATCH = """{ const own = source.more; let played = false, begun;
    source.more = (count) => { played ||= count !== AHEAD; own(count); };
    const look = () => { if (SOON) window.soon = performance.now() - begun;
                         else setTimeout(look, 1); };
    const click = () => { begun = performance.now(); played = false; look(); };
    document.querySelector('#start').addEventListener('click', click, true); }"""


def lines(
    keys: Sequence[str], rounds: int = 15, seconds: float = 60, clients: int = 20
) -> Iterator[str]:
    """The lines that are printed."""
    with serving(*keys, program=sys.executable) as server, tempfile.TemporaryDirectory() as name:
        for model in ("shakespeare", "etude"):
            times = [_first(server, model)[0] for _ in range(rounds)]
            yield f"{model}: a request's first byte after {_shown(times)}"
        with browser(Path(name)) as page:
            times = [_clicked(server, page, "shakespeare", "made") for _ in range(rounds)]
            yield f"a click's first character after {_shown(times)}"
            times = [_clicked(server, page, "etude", "played") for _ in range(rounds)]
            yield f"a click's first sample is played after {_shown(times)}"
            page.ask(f"document.querySelector('#length').value = {seconds}")
            page.point("#start")
            page.wait("!id")
            yield f"gaps in {seconds:g} s of the étude: {page.ask('gaps')}"
        times = [_computes_on(server, model) for model in ("shakespeare", "etude") * rounds]
        yield f"it computes on for {_shown(times)} after its client has gone"
        before = _memory(server)
        with ThreadPoolExecutor(clients) as pool:
            found = list(pool.map(lambda _: _first(server, "shakespeare", 1000), range(clients)))
        first, last = zip(*found, strict=True)
        yield (
            f"{clients} clients, 1000 characters each: first ones after {min(first):.2f} to "
            f"{max(first):.2f} s, last ones after {min(last):.2f} to {max(last):.2f} s; the server "
            f"has {before:.0f} MB before and {_memory(server):.0f} MB after"
        )


def _first(server: Server, model: str, length: int = 300) -> tuple[float, float]:
    """Seconds to the first byte of a sample, and to the last."""
    begun = time.perf_counter()
    with urllib.request.urlopen(server.request(checkpoint=model, length=length)) as answer:
        answer.read(1)
        first = time.perf_counter() - begun
        answer.read()
    return first, time.perf_counter() - begun


def _clicked(server: Server, page: Page, model: str, soon: str) -> float:
    """Seconds from a click in a page until something has happened."""
    page.open(f"{server.link}&checkpoint={model}", width=900)
    page.ask(_WATCH.replace("SOON", soon))
    page.point("#start")
    page.wait("window.soon")
    page.point("#stop")
    return float(page.ask("window.soon")) / 1000


def _computes_on(server: Server, model: str) -> float:
    """Seconds after a client has gone until the server takes less than a third of a processor."""
    with urllib.request.urlopen(server.request(checkpoint=model, length=1_000_000)) as answer:
        answer.read(2000)
    gone = now = last = time.perf_counter()
    used = _used(server)
    while now - gone < 0.5:
        time.sleep(0.005)
        before, now, earlier, used = now, time.perf_counter(), used, _used(server)
        if used - earlier > (now - before) / 3:
            last = now
    return last - gone


def _used(server: Server) -> float:
    """Seconds of processors that all threads of the server have taken."""
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in tasks) / 1e9


def _memory(server: Server) -> float:
    """MB."""
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _shown(times: Sequence[float]) -> str:
    return f"{1000 * statistics.median(times):.0f} ms (at most {1000 * max(times):.0f})"


if __name__ == "__main__":
    for line in lines(sys.argv[1:]):
        print(line, flush=True)
