"""The page of the server in a real browser, by real clicks."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from seqkit.data.sound.postfilter import Postfilter
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.runs.named_checkpoint import load_checkpoint
from tests.browser import Page, needs_browser
from tests.page.conftest import chromium
from tests.page.test_page import STATUS, TROUBLE, WRITTEN, fill, finish, heard
from tests.play.conftest import Server, serving

__all__ = ["chromium"]
pytestmark = needs_browser
Visit = Callable[..., Page]


@pytest.fixture
def visit(server: Server, chromium: Page, trained: Path) -> Visit:
    """Open the page of a model, by default that of the run."""

    def call(name: str = str(trained), link: str = server.link) -> Page:
        chromium.errors.clear()
        chromium.open(f"{link}&checkpoint={name}", width=900)
        assert chromium.ask("document.body.dataset.ready") == "server"
        return chromium

    return call


def test_text_is_what_the_server_writes_and_its_link_writes_it_again(
    visit: Visit, server: Server, trained: Path
) -> None:
    page = visit()
    fill(page, prompt="the rain ", seed=5, length=700)
    page.ask("document.querySelector('#temperature').value = 2; 0")
    page.point("#coloured")
    finish(page)
    first = page.ask(WRITTEN)
    keys = {"length": 700, "seed": 5, "temperature": 2}
    assert first == "the rain " + server.ask(body=b"the rain ", **keys).body.decode()
    assert page.ask("new Set([...document.querySelectorAll('#written span')].map((own) => "
                    "own.className)).size") > 3  # fmt: skip
    page.open("about:blank")
    page = visit(f"{trained}#seed=5&length=700&temperature=2&prompt=the+rain+&coloured=on")
    assert page.ask("document.querySelector('#coloured').checked")
    finish(page)
    assert page.ask(WRITTEN) == first
    assert "prompt=the+rain+&temperature=2" in page.ask("location.hash")


def test_stop_means_stop_and_a_knob_is_heard_at_once(visit: Visit) -> None:
    page = visit()
    page.ask("document.querySelector('#length').value = ''; 0")
    page.ask("document.querySelector('#temperature').value = 2; 0")
    page.point("#start")
    page.wait(f"{WRITTEN}.length > 300")
    page.ask("document.querySelector('#temperature').focus(); 0")
    page.press("Home", 36)
    line = "the rain in spain stays mainly in the plain.\\n"
    page.wait(f"{WRITTEN}.slice(-600).includes('{line}'.repeat(9))")
    page.point("#stop")
    first = page.ask(WRITTEN)
    assert page.ask(STATUS).startswith("Stopped: ")
    page.ask("new Promise((done) => setTimeout(done, 200))")
    assert page.ask(WRITTEN) == first
    assert page.errors == []


def test_sound_is_what_the_server_makes(visit: Visit, server: Server) -> None:
    page = visit("etude")
    fill(page, seed=5, length=1.5)
    temperature = page.ask("document.querySelector('#temperature').value")
    finish(page)
    made = server.ask(checkpoint="etude", seconds=1.5, seed=5, temperature=temperature).body
    assert np.array_equal(heard(page)[1], np.frombuffer(made[44:], "<i2"))


@pytest.mark.parametrize("name", ["bands", "wide"])
def test_frames_that_the_servers_pieces_cut_are_put_together(
    name: str, chromium: Page, models: Path
) -> None:
    with serving(f"checkpoint={models / name}") as own:
        assert np.array_equal(*of_page_and_server(chromium, own))


def of_page_and_server(page: Page, server: Server) -> tuple[np.ndarray, np.ndarray]:
    """The samples that a page of a server makes, and those of the server's own WAV."""
    page.open(server.link)
    page.wait("document.body.dataset.ready")
    fill(page, seed=5, length=1.5)
    temperature = page.ask("document.querySelector('#temperature').value")
    finish(page)
    body = server.ask(seconds=1.5, seed=5, temperature=temperature).body
    return heard(page)[1], np.frombuffer(body[44:], "<i2")


def test_sound_goes_through_the_models_postfilter(chromium: Page, tmp_path: Path) -> None:
    """In the page, which goes on from what it was sent; a WAV comes filtered."""
    found = load_checkpoint("etude", Catalogue(), Console(quiet=True))
    found.postfilter = Postfilter(2.0, 6.0)
    found.save(tmp_path / "hushed.safetensors")
    wavs, tails = [], []
    for more in ((), ("sample.postfilter=false",)):
        with serving(f"checkpoint={tmp_path / 'hushed.safetensors'}", *more) as own:
            made, wav = of_page_and_server(chromium, own)
            wavs.append(wav.astype(int))
            assert len(made) == len(wavs[-1]) == 12_000
            assert np.abs(made - wavs[-1]).max() <= 1  # rounding
            tails.append(chromium.ask("unfiltered.flatMap((part) => [...part]).slice(-1000)"))
    assert tails[0] == tails[1] == wavs[1][-1000:].tolist()
    assert np.abs(wavs[0] - wavs[1]).max() > 100


def test_sound_goes_on_from_a_recording(visit: Visit, server: Server) -> None:
    page = visit("etude")
    fill(page, seed=5, length=1)
    page.ask("""(async () => {
        const tone = Int16Array.from({ length: 4000 }, (_, i) => 9000 * Math.sin(i / 3));
        const file = new File([wav([tone])], "a.wav"), dataTransfer = new DataTransfer();
        dataTransfer.items.add(file);
        const own = document.querySelector("#recording");
        own.files = dataTransfer.files;
        own.dispatchEvent(new Event("change", { bubbles: true }));
    })()""")
    page.wait(f"{STATUS}.includes('0.5 s of a recording')")
    finish(page)
    found = heard(page)[1]
    temperature = page.ask("document.querySelector('#temperature').value")
    made = server.ask(checkpoint="etude", seconds=1, seed=5, temperature=temperature).body
    assert len(found) == 8000
    assert not np.array_equal(found, np.frombuffer(made[44:], "<i2"))
    page.ask("record(new Blob(['no sound'])); 0")
    page.wait(f"{TROUBLE}.includes('no recording')")


def test_another_model_can_be_chosen(visit: Visit, trained: Path) -> None:
    page = visit()
    names = page.ask("[...document.querySelector('#choice').options].map((own) => own.value)")
    assert [names[0], *names[-2:]] == [str(trained), "etude", "shakespeare"]  # others may add runs
    fill(page, seed=77)
    page.ask("""(() => { const own = document.querySelector('#choice'); own.value = 'etude';
        own.dispatchEvent(new Event('change', {bubbles: true})); })()""")
    while page.ask("document.title") != "etude" or not page.ask("document.body.dataset.ready"):
        pass
    assert page.ask("document.querySelector('#seed').value") == "77"
    assert page.errors == []


def test_what_the_server_says_is_shown(visit: Visit, trained: Path) -> None:
    page = visit()
    fill(page, prompt="a ☃")
    page.point("#start")
    page.wait(f"{TROUBLE}.includes('U+2603')")
    assert page.ask(STATUS) == "Stopped."
    with serving(f"checkpoint={trained}") as own:
        page = visit(str(trained), own.link)
    page.point("#start")
    page.wait(f"{TROUBLE} === 'The server does not answer any more.'")


def test_labels_are_keys(chromium: Page, models: Path) -> None:
    with serving(f"checkpoint={models / 'words'}") as own:
        chromium.open(own.link, width=900)
        chromium.point("#row button", "mousePressed")
        chromium.wait("made > 0")
        assert "label=high" in chromium.ask("location.hash")
        chromium.point("#row button + button", "mousePressed", "mouseReleased")
        chromium.wait("made > 4000")
        chromium.point("#stop")
        assert chromium.ask(TROUBLE) == ""
