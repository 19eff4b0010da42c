"""The server over HTTP: what it makes, what it refuses, and that it lives on."""

import contextlib
import http.client
import io
import json
import socket
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import soundfile

import seqkit
from seqkit.data.codecs import Spectral
from tests.conftest import Run
from tests.play.conftest import Answer, Server, serving

PROMPT = "the rain "
MOST = 16 + 64
"""Requests that are served or wait."""


def connection(server: Server) -> HTTPConnection:
    return HTTPConnection(urlsplit(server.base).netloc)


def lines(answer: Answer) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.body.splitlines()]


def test_text_is_what_the_command_writes(server: Server, run: Run, trained: Path) -> None:
    made = server.ask(body=PROMPT.encode(), length=300, seed=7, temperature=3, top_k=9)
    words = [f"prompt={PROMPT}", "length=300", "seed=7", "temperature=3", "top_k=9"]
    words += ["device=cpu"]
    printed = run("generate", f"checkpoint={trained}", *words).out
    assert PROMPT.encode() + made.body == printed
    assert made.headers["content-type"] == "text/plain; charset=utf-8"
    again = server.ask(body=PROMPT.encode(), length=300, temperature=3, top_k=9)
    assert again.body != made.body
    assert again == server.ask(
        body=PROMPT.encode(), length=300, temperature=3, top_k=9, seed=again.headers["seed"]
    )


def test_lines_hold_symbols_and_their_nats(server: Server, trained: Path) -> None:
    answer = server.ask(body=PROMPT.encode(), length=900, seed=3, json="true", nats="true")
    text = "".join(str(one["text"]) for one in lines(answer))
    assert text.encode() == server.ask(body=PROMPT.encode(), length=900, seed=3).body
    symbols, nats = (
        np.concatenate([np.ravel(one[key]) for one in lines(answer)]) for key in ("symbols", "nats")
    )
    model: Any = seqkit.load(trained, device="cpu")
    assert symbols.tolist() == model.codec.encode(text).tolist()
    assert np.allclose(nats, model.nats(PROMPT + text)[len(PROMPT) :], atol=1e-4)


def test_sound_is_a_wav_and_goes_on_from_a_recording(server: Server) -> None:
    voice: Any = seqkit.load("etude", device="cpu")
    made = server.ask(checkpoint="etude", seconds=0.3, seed=1)
    assert made.headers["content-type"] == "audio/wav"
    expected = np.round(voice.generate(seconds=0.3, seed=1) * 32768).astype(np.int16)
    assert np.array_equal(np.frombuffer(made.body[44:], "<i2"), expected)
    rate = voice.sample_rate
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)
    tone = np.round(tone * 32768).astype(np.float32) / 32768
    for kind in ("WAV", "FLAC"):
        recording = io.BytesIO()
        soundfile.write(recording, tone, rate, format=kind, subtype="PCM_16")
        body = recording.getvalue()
        after = server.ask(body=body, checkpoint="etude", seconds=0.2, seed=1, live="true")
        expected = voice.generate(tone, seconds=0.2, seed=1, include_prompt=False) * 32768
        assert np.array_equal(np.frombuffer(after.body[44:], "<i2"), np.round(expected))
    symbols = voice.codec.encode(tone)
    keys: Any = {"checkpoint": "etude", "seconds": 0.2, "seed": 1, "json": "true"}
    for given in (body, json.dumps(symbols.tolist()).encode()):
        answer = lines(server.ask(body=given, **keys))
        drawn = np.concatenate([one["symbols"] for one in answer])
        expected = voice.stream_symbols(symbols, seconds=0.2, seed=1)
        assert np.array_equal(drawn, np.concatenate([*expected]))


def test_labels_are_told_and_a_prompt_beside_them(models: Path) -> None:
    with serving(f"checkpoint={models / 'words'}") as own:
        high, low = (own.ask(seconds=0.2, seed=1, label=name) for name in ("high", "low"))
        assert high.status == low.status == 200
        assert high.body != low.body
        assert own.ask(body=high.body, seconds=0.2, label="high").status == 200
        assert "no label deep" in own.ask(label="deep").error


def test_as_many_symbols_of_sound_are_made_as_of_text(server: Server) -> None:
    """The page asks for the seconds of so many where its field for the length is empty."""
    voice: Any = seqkit.load("etude", device="cpu")
    assert isinstance(voice.codec, Spectral)
    seconds = 5_000_000 / voice.codec.symbol_rate
    request = server.request(checkpoint="etude", seconds=seconds, json="true", live="true")
    with urllib.request.urlopen(request) as found:
        assert json.loads(found.readline())["symbols"]
    answer = server.ask(checkpoint="etude", seconds=seconds + 1)
    assert answer.status == 400
    assert "ask for at most 5000000 symbols" in answer.error


JSON = {"json": "true"}
REFUSED: dict[str, dict[str, Any]] = {
    "length=x: expected int": {"length": "x"},
    "temperature=nan: give a finite number": {"temperature": "nan"},
    "seed=-1: give a value of at least 0": {"seed": -1},
    "unknown key lenght: did you mean length?": {"lenght": 3},
    "like: that is gone: nothing sings": {"like": "/etc/passwd"},
    "ask for at most 5000000": {"length": 5_000_001},
    "checkpoint=etudes: not offered: did you mean etude?": {"checkpoint": "etudes"},
    "json=maybe: expected bool": {"json": "maybe"},
    "unknown key ahead.": {"ahead": 1},
    "this model writes text": {"seconds": 1},
    "learnt no labels": {"label": "a"},
    "U+2603": {"body": "☃".encode()},
    "the text is not UTF-8": {"body": b"\xff"},
    "cannot be read as sound": {"checkpoint": "etude", "body": b"no sound"},
    "symbols: 256 is not one of the 256": {"checkpoint": "etude", "body": b"[256]", **JSON},
    "symbols: expected integers": {"checkpoint": "etude", "body": b'["a"]', **JSON},
    "the symbols cannot be read": {"checkpoint": "etude", "body": b"[" * 99_999, **JSON},
}


@pytest.mark.parametrize("told", REFUSED)
def test_what_cannot_be_made_is_refused_in_words(told: str, server: Server) -> None:
    answer = server.ask(**REFUSED[told])
    assert answer.status == 400
    assert told in answer.error
    assert server.ask(length=5).status == 200


def test_what_is_sent_is_bounded(server: Server) -> None:
    answer = server.ask(body=b"a" * 10_000_000)
    assert answer.status == 413
    assert "more than 1,048,576 bytes were sent" in answer.error
    silence = io.BytesIO()
    soundfile.write(silence, np.zeros(121 * 8000), 8000, format="FLAC")
    assert len(silence.getvalue()) < 100_000
    answer = server.ask(body=silence.getvalue(), checkpoint="etude")
    assert "longer than 120 s" in answer.error


@pytest.mark.parametrize(
    ("headers", "token", "told"),
    [
        ({"Host": "evil.example"}, None, "Host evil.example"),
        ({"Host": "[::"}, None, "Host [::"),
        ({"Origin": "http://evil.example"}, None, "Origin http://evil.example"),
        ({"Origin": "null"}, None, "Origin null"),
        ({}, "", "token"),
        ({}, "é", "token"),
    ],
)
def test_others_are_not_let_in(
    headers: dict[str, str], token: str | None, told: str, server: Server
) -> None:
    for path, body in (("generate", b""), ("", None)):
        answer = server.ask(path, body, token=token, headers=headers)
        assert answer.status == 403
        assert told in answer.error
    own = {"Origin": server.base.rstrip("/")}
    assert server.ask(headers=own, length=5).status == 200


def test_the_page_comes_with_the_token_in_its_link(server: Server) -> None:
    answer = server.ask("", None, token="")
    assert answer.status == 403
    with serving("checkpoint=shakespeare") as own:
        with urllib.request.urlopen(own.link) as found:
            page = found.read().decode()
            assert found.headers["referrer-policy"] == "no-referrer"
        assert '"choices": ["shakespeare"]' in page
        assert "connect-src 'self'" in page
        assert "{{" not in page


def test_many_at_once_each_get_their_own(server: Server) -> None:
    def made(seed: int) -> bytes:
        return server.ask(length=400, seed=seed, temperature=3).body

    expected = [*map(made, range(20))]
    assert len({*expected}) == 20
    with ThreadPoolExecutor(20) as pool:
        found = list(
            pool.map(lambda seed: server.ask(length=400, seed=seed, temperature=3).body, range(20))
        )
    assert found == expected


def test_too_many_are_refused_and_work_is_dropped_when_clients_go(server: Server) -> None:
    asked: list[HTTPConnection] = []
    for _ in range(MOST):
        asked.append(connection(server))
        url = "/generate?length=5000000"
        asked[-1].request("POST", url, b"", {"Authorization": f"Bearer {server.token}"})
    found = [own.getresponse() for own in asked[:16]]  # those that wait have none yet
    assert {own.status for own in found} == {200}
    assert all(own.read(10) for own in found)  # in turn
    # Some of the others have not been read yet.
    answers = (server.ask(length=5) for _ in range(300))
    answer = next(own for own in answers if own.status == 503)
    assert "too many are waiting" in answer.error
    for own in asked[16:]:  # while they wait
        own.close()
    for response, own in zip(found, asked, strict=False):
        response.close()
        own.close()
    answers = (server.ask(length=5) for _ in range(300))
    assert len(next(own for own in answers if own.status == 200).body) == 5


def test_it_outlives_clients_that_stall_or_talk_nonsense(server: Server) -> None:
    place = urlsplit(server.base)
    head = f"POST /generate?token={server.token} HTTP/1.1\r\nHost: {place.netloc}\r\n"
    begun = [
        head + "Content-Length: 100\r\n\r\nthe",
        head,
        "\x00\x01\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        head + "X: " + "a" * 100_000,
        head.replace("?", "?length=5000000&") + "Content-Length: 0\r\n\r\n",
    ]
    held = []
    for text in begun:
        held.append(socket.create_connection((place.hostname, place.port)))
        held[-1].sendall(text.encode())
    assert server.ask(length=5).status == 200
    for one in held:
        one.close()
    assert server.ask(length=5).status == 200


def test_what_is_broken_off_has_no_end(server: Server) -> None:
    with contextlib.closing(connection(server)) as asked:
        head = {"Authorization": f"Bearer {server.token}"}
        asked.request("POST", "/generate?length=5000000", b"", head)
        with asked.getresponse() as found:
            found.read(100)
            server.process.terminate()
            with pytest.raises((http.client.IncompleteRead, ConnectionError)):
                found.read()
    assert server.process.wait() == 75
