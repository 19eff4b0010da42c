"""Files of sound become a corpus: a symbol per sample, quantised once and kept in the cache."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data import codecs, corpus_cache
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Located
from seqkit.data.recordings import Recordings
from seqkit.data.sound import reader
from seqkit.errors import ConfigError
from seqkit.plugins import Catalogue


def holds_sound(path: Path) -> bool:
    """Whether data.kind=auto takes this for sound.

    It does so for a file that is named or opens as sound, and a folder with such names and no .txt.
    """
    if not path.is_dir():
        return path.suffix.lower() in reader.SUFFIXES or (
            path.suffix != ".txt" and reader.is_sound(path)
        )
    files = [file.suffix.lower() for file in path.rglob("*")]
    return ".txt" not in files and not reader.SUFFIXES.isdisjoint(files)


def load(
    config: DataConfig,
    located: Located,
    *,
    cache: Path,
    catalogue: Catalogue,
    codec: Codec | None = None,
) -> Corpus:
    """The corpus of a file, or of a folder whose files of sound (any depth) are documents.

    The files of a folder stand in an order that depends on nothing but their names and looks
    random, so that a split takes some of everything; those of the data set's own validation and
    test part come last.

    Args:
        config: the keys for sound are read here.
        located: the file or folder, its name, and its own parts.
        cache: the folder for encoded data.
        catalogue: where `config.codec` is looked for.
        codec: quantise with this one; by default one as configured.

    Raises:
        DataError: nothing to read, or with on_bad_file=error a file that cannot be read.
        ConfigError: a sample rate or quantiser other than the codec's.
    """
    assert codec is None or codec.kind == "audio"
    if codec is not None:
        _check_same(config, codec)
    files = corpus_cache.listing(located, files_in, "file of sound")
    source = corpus_cache.scan(located, files, cache)
    settings = {
        "kind": "audio",
        "channel": config.channel,
        "on_bad_file": config.on_bad_file,
    }
    recordings = Recordings(config, source.files, located)
    if codec is None:
        kind = codecs.find("mu_law" if config.codec == "auto" else config.codec, catalogue)
        assert issubclass(kind, Quantiser)
        wanted = {
            **settings,
            "codec": kind.name,
            "code": codecs.fingerprint(kind),
            "sample_rate": config.sample_rate,
            "levels": config.levels,
            "gain": config.gain,
        }
        found = corpus_cache.find_codec(source, wanted, catalogue, lambda: recordings.codec(kind))
        assert isinstance(found, Quantiser)
        codec = found
    quantiser = codec
    return corpus_cache.load(
        source, settings, codec, lambda stream: recordings.encode(quantiser, stream)
    )


def files_in(folder: Path) -> Iterator[Path]:
    """The files in a folder, at any depth, that are named as sound."""
    return (
        file
        for file in folder.rglob("*")
        if file.suffix.lower() in reader.SUFFIXES and file.is_file()
    )


def _check_same(config: DataConfig, codec: Quantiser) -> None:
    """Refuse keys that ask for another quantiser than the checkpoint's; defaults ask for nothing.

    A codec does not tell what kind its gain is: see `check_gain`.
    """
    if config.sample_rate not in (0, codec.sample_rate):
        raise ConfigError(
            f"data.sample_rate={config.sample_rate}: the checkpoint was trained at "
            f"{codec.sample_rate} Hz; give data.sample_rate=0"
        )
    if config.levels not in (codec.levels, DataConfig().levels):
        raise ConfigError(
            f"data.levels={config.levels}: the checkpoint was trained with {codec.levels}; "
            "leave the key out"
        )


def check_gain(config: DataConfig, trained: Mapping[str, Any]) -> None:
    """Refuse a `data.gain` other than the one of the training; the default asks for nothing.

    The factor itself says little: a gain of 1 is none, or that of a peak at full scale.

    Args:
        config: what the user asks for.
        trained: the config in a checkpoint. One that names no gain refuses nothing.

    Raises:
        ConfigError: another gain is asked for.
    """
    data = trained.get("data")
    gain = data.get("gain") if isinstance(data, Mapping) else None
    if gain is not None and config.gain not in (gain, DataConfig().gain):
        raise ConfigError(
            f"data.gain={config.gain}: the checkpoint was trained with {gain}; leave the key out"
        )
