"""Data are looked at a part at a time."""

from pathlib import Path

from seqkit.advice import examine
from seqkit.config import Config, DataConfig
from seqkit.data.load import load_corpus
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import unseen
from seqkit.foundation.session import Session


def test_what_is_odd_in_a_text_is_told_with_the_keys_that_help(tmp_path: Path) -> None:
    text = "".join(f"{chr(0x4E00 + number)}{' some words' * 25}\r\n" for number in range(400))
    (tmp_path / "a.txt").write_bytes(text.encode())
    config = Config(data=DataConfig(path=[str(tmp_path / "a.txt")]))
    corpus = load_corpus(config.data, Session(Catalogue(), lambda text: None))
    faults = [*map(str, examine.examine(config, corpus, unseen)[1])]
    for keys in ("data.newline=lf", "data.max_vocabulary=10 data.unknown=skip"):
        assert any(f": read it with {keys}" in told for told in faults)
