"""Data are looked at a part at a time."""

from pathlib import Path

from seqkit.advice import examine
from seqkit.config import Config, DataConfig
from seqkit.data.load import load_corpus
from seqkit.data.shards.prepare import prepare
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import unseen
from seqkit.foundation.session import Session


def test_what_was_prepared_is_to_be_prepared_again(tmp_path: Path) -> None:
    text = "".join(f"{chr(0x4E00 + number)}{' some words' * 25}\r\n" for number in range(400))
    (tmp_path / "a.txt").write_bytes(text.encode())
    out = tmp_path / "shards"
    prepare(
        DataConfig(path=[str(tmp_path / "a.txt")]),
        out,
        catalogue=Catalogue(),
        notice=lambda text: None,
    )
    for path, advised in (
        (tmp_path / "a.txt", "read it with"),
        (out, "prepare the data again with"),
    ):
        config = Config(data=DataConfig(path=[str(path)]))
        corpus = load_corpus(config.data, Session(Catalogue(), lambda text: None))
        faults = [*map(str, examine.examine(config, corpus, unseen)[1])]
        for keys in ("data.newline=lf", "data.max_vocabulary=10 data.unknown=skip"):
            assert any(f": {advised} {keys}" in told for told in faults)
