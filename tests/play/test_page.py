"""The exported page in a real browser: the command's own symbols, by real clicks."""

import base64
import zlib
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.data.codecs.spectral.codec import limited
from seqkit.data.sound.writer import pcm16
from seqkit.play import page
from tests.browser import Page, needs_browser
from tests.conftest import Run
from tests.play.conftest import Opened

pytestmark = needs_browser
WRITTEN = "document.querySelector('#written').textContent"
STATUS = "document.querySelector('#status').textContent"
TROUBLE = "document.querySelector('#trouble').textContent"


def fill(page: Page, **fields: object) -> None:
    """Type into fields, in the place of what is there."""
    for name, value in fields.items():
        page.point(f"#{name}")
        page.ask(f"document.querySelector('#{name}').select(); 0")
        page.write(str(value))


def finish(page: Page) -> None:
    """Press start and wait for the end."""
    page.point("#start")
    page.wait("!id")
    assert page.ask(STATUS).startswith("Done: ")
    assert page.errors == []


def stop(page: Page) -> str:
    """Press stop, and see that nothing more is written; what was written until then."""
    page.point("#stop")
    first = page.ask(WRITTEN)
    assert page.ask(STATUS).startswith("Stopped: ")
    page.ask("new Promise((done) => setTimeout(done, 200))")
    assert page.ask(WRITTEN) == first
    return str(first)


@pytest.mark.parametrize("relaxed", [True, False])
def test_text_is_the_commands_to_the_last_symbol(relaxed: bool, opened: Opened, run: Run) -> None:
    def without(html: str) -> str:
        first = html.partition('"relaxed": "')[2].partition('"')[0]
        nothing = base64.b64encode(zlib.compress(b"")).decode()
        return html if relaxed else html.replace(first, nothing)

    page, length = opened("shakespeare", change=without), 20_000 if relaxed else 2000
    assert page.ask("document.body.dataset.ready") == ("relaxed" if relaxed else "plain")
    fill(page, prompt="ROMEO:\n", seed=7, length=length)
    finish(page)
    words = ["generate", "checkpoint=shakespeare", "seed=7", "prompt=ROMEO:\n", "device=cpu"]
    printed = run(*words, f"length={length}").out.decode()
    assert len(printed) == length + 7
    assert page.ask(WRITTEN) == printed
    kinds = {url.partition(":")[0] for url in page.requests}
    assert kinds == {"file", "blob"}
    assert sum(url.startswith("file:") for url in page.requests) == 1


def test_sliders_mean_what_the_keys_mean(opened: Opened, run: Run) -> None:
    page = opened("shakespeare")
    fill(page, seed=123456789012345678, length=900)
    for name, place in (("temperature", 0.5), ("top_k", 1 / 64 * 9), ("top_p", 0.85)):
        page.ask(f"document.querySelector('#{name}').focus(); 0")
        page.ask(f"(() => {{ const own = document.querySelector('#{name}');"
                 f"own.value = +own.min + {place} * (own.max - own.min);"
                 "own.dispatchEvent(new Event('input', {bubbles: true})); })()")  # fmt: skip
        page.press("ArrowRight", 39)
    shown = page.ask("[...document.querySelectorAll('output')].map((own) => own.value)")
    finish(page)
    words = [f"{n}={v}" for n, v in zip(("temperature", "top_k", "top_p"), shown, strict=True)]
    words += ["seed=123456789012345678", "length=900", "device=cpu"]
    printed = run("generate", "checkpoint=shakespeare", *words).out.decode()
    assert page.ask(WRITTEN) == printed
    assert shown == ["1.05", "11", "0.86"]


def heard(page: Page) -> tuple[bytes, np.ndarray]:
    """The WAV that the page offers, and its samples."""
    page.ask("""{ const own = URL.createObjectURL;
        URL.createObjectURL = (blob) => { window.saved = blob; return own.call(URL, blob); } }""")
    page.point("#wav")
    url = page.ask("""new Promise((done) => { const reader = new FileReader();
        reader.onload = () => done(reader.result); reader.readAsDataURL(window.saved); })""")
    content = base64.b64decode(url.partition(",")[2])
    return content, np.frombuffer(content[44:], "<i2")


def alike(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether sounds of 16 bits differ by no more than another FFT rounds: 70 dB below them."""
    error = np.square(found.astype(float) - expected).mean()
    return bool(error < 1e-7 * np.square(expected, dtype=float).mean())


@pytest.mark.parametrize(
    ("name", "seconds", "label"),
    [("etude", 2.5, None), ("words", 2.5, "high"), ("frames", 2.5, "low"), ("stereo", 1.5, None)],
)
def test_sound_is_the_commands_to_the_last_sample(
    name: str, seconds: float, label: str | None, opened: Opened, run: Run, models: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    checkpoint = name if name == "etude" else models / name
    page, out = opened(checkpoint), tmp_path / "a.wav"
    fill(page, seed=5, length=seconds)
    words = ["generate", f"checkpoint={checkpoint}", "seed=5", f"seconds={seconds}", "device=cpu"]
    if label:
        page.ask(f"document.querySelector('#labels select').value = '{label}'")
        words.append(f"label={label}")
    finish(page)
    content, samples = heard(page)
    run.ok(*words, f"out={out}")
    expected, rate = soundfile.read(out, dtype="int16")
    found = samples.reshape(expected.shape)
    assert alike(found, expected) if name != "words" else np.array_equal(found, expected)
    assert abs(len(expected) - seconds * rate) < 512  # a frame
    (tmp_path / "b.wav").write_bytes(content)
    assert soundfile.info(tmp_path / "b.wav").samplerate == rate
    assert len(np.unique(samples)) > 3


def test_loud_peaks_are_the_commands_to_the_last_sample(opened: Opened) -> None:
    wave = np.linspace(-3, 3, 4001, dtype=np.float32)
    script = "document.querySelector('#spectral').textContent"
    made = f"new Function('wave', {script} + '; return [...interleaved([wave])]')"
    found = opened("etude").ask(f"{made}({wave.tolist()})")
    assert np.array_equal(found, np.frombuffer(pcm16(limited(wave)), "<i2"))


@pytest.mark.parametrize("rate", [8000, 11025, 44100, 48000])
def test_pieces_are_played_without_a_seam(rate: int, opened: Opened) -> None:
    page = opened("etude", change=lambda html: html.replace('"rate": 44100', f'"rate": {rate}'))
    found = page.ask("""(async () => {
        context = new OfflineAudioContext(1, 20000, model.rate);
        analyser = new GainNode(context);
        analyser.connect(context.destination);
        for (let n = 1, length = 1; n < 15000; n += length, length = length * 7 % 331 + 1)
            play(Int16Array.from({ length }, (_, i) => n + i));
        const heard = await context.startRendering();
        return Array.from(heard.getChannelData(0), (value) => value * 32768);
    })()""")
    heard = np.array(found)
    heard = heard[np.flatnonzero(heard)[0] :][:14000]
    assert np.array_equal(heard, np.arange(1, 14001))


def test_stop_means_stop_and_a_seed_begins_again(opened: Opened) -> None:
    page = opened("shakespeare")
    fill(page, seed=3, length="")
    page.ask("document.querySelector('#length').value = ''; 0")
    page.point("#start")
    page.wait(f"{WRITTEN}.length > 3000")
    first = stop(page)
    fill(page, length=len(first))
    finish(page)
    assert page.ask(WRITTEN) == first
    page.point("#start")
    page.wait("made > 0")
    page.ask("document.querySelector('#start').click(); 0")  # while pieces are under way
    page.wait("!id")
    assert page.ask(WRITTEN) == first
    page.point("#other")
    finish(page)
    assert page.ask(WRITTEN) != first


def test_each_character_is_coloured_by_its_surprise(opened: Opened) -> None:
    page = opened("shakespeare")
    fill(page, prompt="ROMEO:\n", length=300)
    page.point("#coloured")
    finish(page)
    parts = page.ask("written.slice(1)")
    assert len(parts) == 300
    nats = np.array([nats for _, nats in parts])
    assert (nats >= 0).all() and 0.5 < nats.mean() < 3
    spans = page.ask("[...document.querySelectorAll('#written span')].map((own) =>"
                     "[own.className, own.textContent])")  # fmt: skip
    assert spans[0] == ["prompt", "ROMEO:\n"]
    levels = "".join(kind[1] * len(text) for kind, text in spans[1:])
    assert levels == "".join(str(min(6, int(own))) for own in nats)
    page.point("#coloured")
    assert page.ask("document.querySelectorAll('#written span').length") == 2


@pytest.mark.thorough
def test_prompts_that_cannot_be_read_are_told_and_the_page_lives_on(opened: Opened) -> None:
    page = opened("shakespeare")
    fill(page, prompt="To be ☃日☃", length=50)
    page.point("#start")
    assert page.ask(TROUBLE) == (
        'The model never saw "☃" (U+2603), "日" (U+65E5): please write the prompt without.'
    )
    page.ask("document.querySelector('#prompt').value = '☃' + 'be '.repeat(4e6); 0")
    finish(page)
    assert page.ask(TROUBLE) == (
        "Of the 12,000,001 characters of the prompt the last 100,000 are kept."
    )
    assert len(page.ask(WRITTEN)) == 100_050
    fill(page, prompt="ROMEO:", seed="1.5")
    page.point("#start")
    assert page.ask("id") == 0
    fill(page, seed=1)
    finish(page)
    assert page.ask(TROUBLE) == ""
    assert page.ask(WRITTEN).startswith("ROMEO:")


@pytest.mark.parametrize("missing", ["WebAssembly", "DecompressionStream", "SIMD"])
def test_a_browser_without_what_it_needs_is_told(
    missing: str, opened: Opened, chromium: Page
) -> None:
    script = f"delete window.{missing}"
    if missing == "SIMD":
        script = "WebAssembly.validate = () => false"
    kept = chromium.before(script)
    page = opened("shakespeare", ready=False)
    chromium.forget(kept)
    page.wait(TROUBLE)
    assert page.ask(TROUBLE).startswith("This browser has no WebAssembly with SIMD")
    assert page.ask("document.querySelector('#start').disabled") is True
    assert page.errors == []


def test_a_page_that_is_damaged_says_so(opened: Opened) -> None:
    page = opened(
        "etude", change=lambda html: html.replace('"weights": "e', '"weights": "f'), ready=False
    )
    page.wait(TROUBLE)
    assert page.ask(TROUBLE).startswith("This page cannot run its model: ")


@pytest.mark.parametrize("name", ["hostile", "bytes"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1100)])
def test_hostile_text_is_data(
    name: str, scheme: str, width: int, opened: Opened, run: Run, models: Path
) -> None:
    title = "<!--<script>{{model}}&lt;"
    page = opened(models / name, scheme=scheme, width=width, title=title)
    fill(page, prompt="</script>☃ ", seed=1, length=700)
    finish(page)
    words = ["generate", f"checkpoint={models / name}", "prompt=</script>☃ ", "seed=1"]
    made = run(*words, "length=700", "device=cpu").out
    cut = "\ufffd"  # which the page holds back until its end comes
    assert page.ask(WRITTEN).rstrip(cut) == made.decode("utf-8", "replace").rstrip(cut)
    assert page.ask("document.title") == page.ask("model.title") == title
    assert page.ask("document.scripts.length") == 3
    assert page.ask("document.documentElement.scrollWidth") <= width
    paper = page.ask("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 29)"}[scheme]


def test_the_page_is_used_by_keyboard_and_every_control_has_a_name(opened: Opened) -> None:
    page = opened("shakespeare")
    order = []
    for _ in range(9):
        page.press("Tab", 9)
        order.append(page.ask("document.activeElement.id"))
    wanted = ["prompt", "temperature", "top_k", "top_p", "seed", "length", "start", "other"]
    assert order == [*wanted, "coloured"]
    page.ask("document.querySelector('#length').focus(); 0")
    page.press("Enter", 13)
    page.wait("made > 500")
    page.wait("!id")
    assert page.ask(STATUS).startswith("Done")
    nameless = "[...document.querySelectorAll('input, textarea, select, canvas, pre')].filter("
    assert page.ask(f"{nameless}(own) => !own.labels?.length && !own.ariaLabel).length") == 0


@pytest.mark.parametrize("name", ["words", "frames"])
def test_labels_are_played_by_mouse_and_keyboard(name: str, opened: Opened, models: Path) -> None:
    page = opened(models / name)
    assert page.ask("fingers") == ["1", "2"]
    chosen = "document.querySelector('#labels select').value"
    page.point("#row button", "mousePressed")
    page.wait("samples.length > 2")
    assert page.ask(chosen) == page.ask("shown[0]")
    page.point("#row button", "mouseReleased")
    first = page.ask("id")
    page.press("2", 50, "keyDown")
    assert page.ask(chosen) == page.ask("shown[1]")
    heard = page.ask("samples.length")
    page.press("2", 50, "keyUp")
    page.wait(f"samples.length > {heard + 5}")  # as much as is made ahead is made again
    assert page.ask("id") > first
    page.point("#stop")
    assert page.ask("id") == 0
    assert page.errors == []


def test_a_model_too_large_is_refused_with_its_size(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "_MOST", 1_000_000)
    refused = run.fails(2, "export", "checkpoint=shakespeare", f"out={tmp_path / 'a.html'}")
    assert "makes a page of 2.6 MB, and browsers open up to 1 MB well: train a smaller" in refused
    assert not (tmp_path / "a.html").exists()
