"""Tiny Shakespeare: 1.1 million characters of the plays, the field's first text to try."""

from pathlib import Path

from seqkit.data.download import Download

DOWNLOAD = Download(
    name="tiny_shakespeare",
    file="tinyshakespeare/input.txt",
    url="https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
    sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    sample=Path(__file__).with_name("verse.txt"),
    licence="public domain",
    citation="Karpathy, char-rnn, 2015",
)
locate = DOWNLOAD.locate
