"""Recipes and requests with anything in them are taken or refused: soon, and in little memory."""

import random
import re
import resource
import socket
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from seqkit.compose.recipes import recipe_files
from tests.conftest import SENTENCE, SMALL, Run
from tests.data.odd import FILES, riff
from tests.faults.conftest import Amount
from tests.faults.test_damage import ODD
from tests.play.conftest import Server, serving

pytestmark = pytest.mark.faults
SECONDS, KILOBYTES = 5.0, 500_000
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
LINES = [
    *(
        "",
        "[]",
        "a",
        "- a",
        "\t",
        "a: b: c",
        "a: &a [*a]",
        "model: *a",
        "<<: {model: {num_layers: 9}}",
    ),
    *(
        "? [a]\n: b",
        "!!python/object/apply:os.system ['true']",
        "%YAML 9.9\n---\na: b",
        "a: 1\n---\nb: 2",
    ),
    *(
        "model: ${model}",
        "seed: ${oc.env:HOME}",
        "seed: ${seed}",
        "seed: 0o17",
        "seed: 1_0",
        "seed: .nan",
    ),
    *(
        "defaults: [own]",
        "defaults: [recipe: own]",
        "defaults: {a: b}",
        "defaults: [../../x, _self_]",
    ),
    *(
        "hydra: {run: {dir: /}}",
        "train: {lr: 1, lr: 2}",
        "\ufeffseed: 1",
        "seed: 12:30:45",
        "seed: yes",
    ),
    *(
        "{" * 2000,
        "[" * 20_000,
        "a: " + "x" * 3_000_000,
        "defaults: [shakespeare, my_sound, _self_]",
        BOMB,
    ),
]


def odd_recipe(chance: random.Random) -> str:
    """A recipe of seqkit's with a few odd values, keys or lines."""
    text: str = chance.choice([*recipe_files([]).values()]).read_text()
    if chance.random() < 0.3:
        lines = text.splitlines()
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(LINES))
        return "\n".join(lines)
    values = yaml.safe_load(text)
    for _ in range(chance.randint(1, 3)):
        place: Any = values
        while isinstance(place[key := chance.choice(list(place))], dict) and chance.random() < 0.9:
            place = place[key]
            if not place:
                break
        if isinstance(place, dict) and place:
            key = (
                chance.choice(list(place)) if chance.random() < 0.9 else chance.choice(["x", 1, ""])
            )
            place[key] = chance.choice(ODD)
    return f"# @package _global_\n{yaml.safe_dump(values, allow_unicode=True)}"


@pytest.mark.thorough
def test_a_recipe_with_anything_in_it_is_trained_or_refused(
    tmp_path: Path, run: Run, amount: Amount, chance: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(SENTENCE * 40)
    own = ["recipe=own", "--config-dir", str(tmp_path), "data.path=a.txt", "train.max_steps=1"]
    contents = [*LINES, *(odd_recipe(chance) for _ in amount(30, 1500))]
    for number, content in enumerate(contents):
        Path("own.yaml").write_text(content)
        before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        small = [word for word in SMALL if chance.random() < 0.8 or word.startswith("device")]
        done = run(*own, *small, "train.max_minutes=0.01", f"run_dir=runs/{number}")
        spent = time.process_time() - begun  # what other programs do does not count
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        told = (content[:3000], done)
        assert done.code in (0, 2, 3, 5, 6, 7), told
        assert "Traceback" not in done.err, told
        assert done.code == 0 or done.err.splitlines()[-1].startswith("seqkit: error: "), told
        assert number == 0 or spent < SECONDS, told  # the first one loads PyTorch
        assert after - before < KILOBYTES, told


QUERIES = [
    *("", "length=20", "length=-1", "length=1e9", "length=99999999999999999999", "length=%00"),
    *("seconds=nan&length=5", "seconds=inf", "seconds=1e-9", "temperature=0&length=9"),
    "temperature=-1",
    *("top_k=0", "top_p=2", "seed=-1", "seed=1e400", "until=", "until=%ff", "until=the&length=50"),
    *("label=x", "checkpoint=../../etc/passwd", "checkpoint=%00", "checkpoint=etude&length=64"),
    *("json=true&length=9", "json=1", "nats=true&length=9", "live=true&length=9", "sample=x"),
    *("length=5&length=6", "a" * 9000 + "=1", "%", "=", "&&&", "prompt=a", "include_prompt=true"),
]  # fmt: skip
HEADERS = [
    *("", "Content-Length: -1", "Content-Length: 99999999999999", "Content-Length: x"),
    *("Content-Length: 3\r\nContent-Length: 4", "Transfer-Encoding: chunked"),
    *("Expect: 100-continue", "Expect: x", "Upgrade: websocket\r\nConnection: Upgrade"),
    *("X: " + "y" * 100_000, "\0: 1", "Accept-Encoding: gzip", "Content-Type: multipart/form-data"),
    *("Range: bytes=0-", "Origin: null", "Cookie: " + "a=b;" * 999, " folded: 1"),
    *("Transfer-Encoding: x", "Host: evil", "Connection: close"),
]  # fmt: skip
BODIES = [
    *(
        b"",
        b"the rain ",
        b"\xff\xfe\0",
        b"[" * 100_000,
        b"[1, 2, 3]",
        b"[[[[1]]]]",
        b"[1e400]",
        b"[NaN]",
    ),
    *(
        b'["a"]',
        b"[-1]",
        b"[99999999999999999999999]",
        b"{}",
        b"null",
        b"\0" * 5000,
        "é☃\u202e".encode(),
    ),
    *(
        b"RIFF",
        b"RIFF\xff\xff\xff\xffWAVE",
        b"x" * 1_100_000,
        b"5\r\nthe r\r\n0\r\n\r\n",
        b"-5\r\n",
    ),
]


def ask(server: Server, request: bytes, ends: bool) -> bytes:
    """How a server begins to answer anything; nothing where it hangs up. The rest is not read."""
    host, port = urlsplit(server.base).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=2 * SECONDS) as connection:
        try:
            connection.sendall(request)
            if ends:  # or it waits for the rest
                connection.shutdown(socket.SHUT_WR)
            return connection.recv(1 << 16)
        except TimeoutError:
            raise
        except OSError:
            return b""


def peak_memory(process: int) -> int:
    """The most that a process has held, in kB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1])


@pytest.mark.thorough
def test_a_request_with_anything_in_it_is_answered(
    trained: Path, amount: Amount, chance: random.Random
) -> None:
    sounds = [odd.content() for odd in FILES if not odd.name.endswith(".txt")]
    with serving(f"runs={trained.parent}", program=sys.executable) as server:
        # What resamples loads PyTorch.
        assert server.ask(body=riff(), checkpoint="etude", length=64).status == 200
        before = peak_memory(server.process.pid)
        for _ in amount(60, 4000):
            query, header = (
                chance.choice(QUERIES),
                chance.choice(HEADERS if chance.random() < 0.5 else [""]),
            )
            body = chance.choice(sounds if chance.random() < 0.2 else BODIES)
            if body in sounds and "checkpoint" not in query:
                query += "&checkpoint=etude&length=64"
            verb = chance.choice(["POST"] * 8 + ["GET", "PUT", "HEAD", "\0", "POST" * 999])
            path = chance.choice(
                ["/generate"] * 8 + ["/", "/" * 9000, "/../x", "*", "/generate/", "//"]
            )
            lines = [f"{verb} {path}?{query} HTTP/1.1", f"Authorization: Bearer {server.token}"]
            lines += [f"Host: {urlsplit(server.base).netloc}"] * (chance.random() < 0.95)
            lines += [f"Content-Length: {len(body)}"] * ("Content-Length" not in header)
            request = "\r\n".join([*lines, *([header] if header else []), "", ""]).encode() + body
            begun = time.monotonic()
            answer = ask(server, request, ends=header.startswith(("Content-Length", "Transfer")))
            told = (request[:600], answer[:600])
            assert time.monotonic() - begun < SECONDS, told
            assert not answer or re.match(rb"HTTP/1\.1 (100|200|307|4\d\d|503) ", answer), told
        assert server.ask(body=b"the rain ", length=9).status == 200
        assert peak_memory(server.process.pid) - before < KILOBYTES
        server.process.terminate()
        _, said = server.process.communicate()
    assert "Traceback" not in said
    assert "fault" not in said
