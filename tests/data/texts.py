"""Text files, loaded as a training loads them."""

from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import corpus_cache
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Located
from seqkit.data.source import Source
from seqkit.data.text_encoder import check_encoding
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import unseen
from seqkit.foundation.session import Session


def load(path: Path, cache: Path, codec: Codec | None = None, **settings: object) -> Corpus:
    return load_located(Located(path, path.name), cache, codec, **settings)  # type: ignore[arg-type]


def load_located(
    located: Located,
    cache: Path,
    codec: Codec | None = None,
    *,
    grow: bool = False,
    **settings: object,
) -> Corpus:
    config = DataConfig(**{"kind": "text", **settings})  # type: ignore[arg-type]
    check_encoding(config.encoding)
    source = Source.of(config, located, codec.kind if codec else config.kind, Catalogue())
    if config.on_bad_file == "skip":
        corpus_cache.leave_out(source, codec, unseen)
    return corpus_cache.load(source, cache, Session(Catalogue(), lambda text: None), codec, grow)
