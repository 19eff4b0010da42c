"""The page of the server in a real browser, by real clicks."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.browser import Page, needs_browser
from tests.play.conftest import Server, serving
from tests.play.test_page import STATUS, TROUBLE, WRITTEN, alike, fill, finish, heard, stop

pytestmark = needs_browser
Visit = Callable[..., Page]


@pytest.fixture
def visit(server: Server, chromium: Page, trained: Path) -> Visit:
    """Open the page of a model, by default that of the run."""

    def call(name: str = str(trained), link: str = server.link) -> Page:
        chromium.errors.clear()
        chromium.open(f"{link}&checkpoint={name}", width=900)
        chromium.wait("document.body.dataset.ready === 'server'")
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
    stop(page)
    assert page.errors == []


def test_sound_is_what_the_server_makes(visit: Visit, server: Server) -> None:
    page = visit("etude")
    fill(page, seed=5, length=1.5)
    temperature = page.ask("document.querySelector('#temperature').value")
    finish(page)
    made = server.ask(checkpoint="etude", seconds=1.5, seed=5, temperature=temperature).body
    assert alike(heard(page)[1], np.frombuffer(made[44:], "<i2"))


def test_a_knob_goes_on_from_the_symbols_that_were_made(visit: Visit) -> None:
    page = visit("etude")
    fill(page, seed=5, length=60)
    page.ask("""window.sent = []; window.got = []; {
        const [own, heard] = [fetch, told];
        fetch = (url, given) => { sent.push([given.body, got.length]); return own(url, given); };
        told = (piece) => { got.push(...(piece.symbols ?? [])); heard(piece); }; } 0""")
    page.point("#start")
    page.wait("got.length > 500")
    page.ask("document.querySelector('#temperature').focus(); 0")
    page.press("ArrowRight", 39)
    page.wait("sent.length > 1 && got.length > sent[1][1]")
    (first, _), (body, count) = page.ask("sent")
    assert (first, json.loads(body)) == ("", page.ask(f"got.slice(0, {count})"))
    page.point("#stop")
    assert page.errors == []


@pytest.mark.thorough
def test_sound_goes_on_from_a_recording(visit: Visit, server: Server) -> None:
    page = visit("etude")
    fill(page, seed=5, length=1)
    page.ask("""(async () => {
        const tone = Int16Array.from({ length: 22050 }, (_, i) => 9000 * Math.sin(i / 3));
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
    assert 0 <= len(found) - 44100 < 512  # a frame
    assert not alike(found, np.frombuffer(made[44:], "<i2"))
    page.ask("record(new Blob(['no sound'])); 0")
    page.wait(f"{TROUBLE}.includes('no recording')")


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
