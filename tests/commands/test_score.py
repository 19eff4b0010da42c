"""`score` as a user runs it: lines of JSON, a page in a real browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.evaluation import streaming
from seqkit.evaluation.scoring import CHUNK
from tests.browser import Page, browser, needs_browser
from tests.conftest import SENTENCE, SMALL, TINY, Run

TAGS = "<script>document.title = 'owned'</script><img src=x onerror=alert(1)>\"'&"
HOSTILE = f"{TAGS}\u202eevil\u200f\x1b[31m\0\x7f\tשלום\n"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def hostile(run: Run, tmp_path: Path) -> Path:
    """A model of a hostile text in the file a.txt, whose name is hostile, too."""
    file = tmp_path / "<b>a\u202e.txt"
    file.write_text(HOSTILE * 20)
    run.ok(*TINY, f"data.path={file}", f"run_dir={tmp_path / 'run'}", "train.max_steps=2")
    return file


def score(run: Run, *words: object) -> tuple[list[dict[str, object]], str]:
    """The lines that a command line prints, and its notices."""
    made = run.ok("score", *map(str, words), "device=cpu")
    return [json.loads(line) for line in made.out.splitlines()], made.err


def test_a_line_for_each_symbol_adds_up_to_the_evaluation(
    run: Run, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, _ = score(run, f"checkpoint={trained}")
    evaluated = run.json("evaluate", f"checkpoint={trained}")
    assert len(lines) == evaluated["symbols"]
    mean = sum(float(str(line["nats"])) for line in lines) / len(lines)
    assert mean == pytest.approx(evaluated["loss"], abs=1e-4)
    text = (trained.parent / "text.txt").read_text()
    assert "".join(str(line["symbol"]) for line in lines) == text[-len(lines) :]
    # Places are those in the file itself, of which this is the last part.
    assert [line["offset"] for line in lines] == [*range(len(text) - len(lines), len(text))]
    assert {line["document"] for line in lines} == {1}
    # Of another number of stretches the same comes out, and always the same.
    assert score(run, f"checkpoint={trained}")[0] == lines
    monkeypatch.setattr(streaming, "_STRETCH", CHUNK)
    assert score(run, f"checkpoint={trained}")[0] == lines


def test_the_most_surprising_places_are_told(run: Run, trained: Path, tmp_path: Path) -> None:
    lines = [SENTENCE] * 30
    lines[17] = SENTENCE.replace("mainly", "mailny")
    (tmp_path / "a.txt").write_text("".join(lines))
    _, notices = score(run, f"checkpoint={trained}", f"data.path={tmp_path / 'a.txt'}", "out=-")
    first = re.findall(r"most surprising: a.txt, offset ([\d,]+): \d+\.\d bits: (.*)", notices)
    offset = int(first[0][0].replace(",", "")) - 17 * len(SENTENCE)
    assert 3 <= offset - SENTENCE.index("mainly") <= 5
    assert "in the plain" in first[0][1]


@pytest.mark.thorough
@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_a_browser_shows_hostile_text_as_text(
    scheme: str, width: int, hostile: Path, run: Run, tmp_path: Path, chromium: Page
) -> None:
    out = tmp_path / "page.html"
    score(run, f"checkpoint={tmp_path / 'run'}", f"data.path={hostile}", f"out={out}")
    chromium.errors.clear()
    chromium.requests.clear()
    chromium.open(out, scheme=scheme, width=width)
    assert chromium.errors == []
    assert [url.partition(":")[0] for url in chromium.requests if url[:5] != "data:"] == ["file"]
    assert chromium.ask("document.documentElement.scrollWidth") <= width
    assert chromium.ask("document.scripts.length") == 0
    assert chromium.ask("document.images.length") == 0
    assert chromium.ask("document.title") == "<b>a\\u202e.txt: surprise"
    seen = chromium.ask("document.querySelector('.heat').textContent")
    shown = f"{TAGS}\\u202eevil\\u200f\\x1b[31m\\x00\\x7f\tשלום↵\n"
    assert seen.startswith(shown * 2)
    first = "document.querySelector('.heat span')"
    chromium.ask(f"{first}.focus()")
    told = chromium.ask(f"getComputedStyle({first}, '::after').content")
    assert re.match(r'"<: \d+\.\d bits, (under )?\d+\.\d %', told), told
    expected = chromium.ask(f"{first}.dataset.told").split("\n")[1]
    chances = [float(share) for share in re.findall(r"(\d+\.\d) %", expected)]
    assert len(chances) == 5
    assert chances == sorted(chances, reverse=True)
    panel = "getComputedStyle(document.querySelector('.heat span'), '::after').position"
    assert chromium.ask(panel) == "fixed"
    assert chromium.ask("document.documentElement.scrollWidth") <= width


def test_a_page_says_which_part_it_shows_and_stays_small(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(f"{SENTENCE.strip()} " * 2000)  # a line of 90 kB
    out = tmp_path / "page.html"
    given = (f"checkpoint={trained}", f"data.path={tmp_path / 'a.txt'}", f"out={out}")
    made = run("score", *given, "device=cpu")
    assert (made.code, made.out) == (0, b"")
    page = out.read_text()
    size = 2000 * len(SENTENCE)
    assert f"The first 20,000 of\n{size:,} symbols" in page
    assert page.count("<span ") < 20_000 + 30
    assert page.count('<p dir="auto">a.txt, offset ') == 20
    assert len(page) < 5_000_000


def test_sound_has_lines_alone(run: Run, tmp_path: Path) -> None:
    wave = 0.3 * np.sin(2 * np.pi * 200 * np.arange(12_000) / 4000)
    soundfile.write(tmp_path / "tone.wav", wave, 4000)
    words = ["recipe=wav_generation", f"data.path={tmp_path / 'tone.wav'}", *SMALL]
    words += ["data.sample_rate=4000", "train.max_steps=2"]
    run.ok(*words, f"run_dir={tmp_path / 'run'}")
    given = (f"checkpoint={tmp_path / 'run'}", f"data.path={tmp_path / 'tone.wav'}")
    lines, _ = score(run, *given)
    assert len(lines) == 12_000
    assert {type(line["symbol"]) for line in lines} == {int}
