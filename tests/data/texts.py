"""Text files, loaded as a training loads them."""

from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import text_corpus
from seqkit.data.codecs import Codec
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Located
from seqkit.data.meter import Meter
from seqkit.foundation.plugins import Catalogue


def load(path: Path, cache: Path, codec: Codec | None = None, **settings: object) -> Corpus:
    config = DataConfig(**{"kind": "text", **settings})  # type: ignore[arg-type]
    located = Located(path, path.name)
    return text_corpus.load(
        config, located, cache=cache, catalogue=Catalogue(), codec=codec, meter=Meter()
    )
