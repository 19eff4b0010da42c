"""Files of sound become a corpus of symbols, quantised once and kept in the cache."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data import codecs, corpus_cache, files
from seqkit.data.bad_files import TEXT_HINT, BadFileError
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Located
from seqkit.data.files import Choice, Search
from seqkit.data.folder_walk import is_folder
from seqkit.data.meter import Meter
from seqkit.data.recordings import Recordings
from seqkit.data.sound import reader
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.plugins import Catalogue


def load(
    config: DataConfig,
    located: Located,
    found_files: Mapping[str, Path],
    search: Search,
    *,
    cache: Path,
    catalogue: Catalogue,
    codec: Codec | None = None,
    meter: Meter,
    check: Callable[[str], None] = lambda sha256: None,
) -> Corpus:
    """The corpus of files, and of those that are chosen in folders: each is one document.

    The files of a folder stand in an order that depends on nothing but their names and looks
    random, so that a split takes some of everything; those of the data set's own validation and
    test part come last.

    Args:
        config: the keys for sound are read here.
        located: the files and folders, their name, and their own parts.
        found_files: those that are read, by name.
        search: how they were found.
        cache: the folder for encoded data.
        catalogue: where `config.codec` is looked for.
        codec: quantise with this one; by default one as configured.
        meter: shows how far the files were read.
        check: told the sha256 of what is read, before it is encoded.

    Raises:
        DataError: nothing to read, or with on_bad_file=error a file that cannot be read.
        ConfigError: a sample rate or quantiser other than the codec's.
    """
    assert codec is None or codec.kind == "audio"
    if codec is not None:
        check_same(config, codec)
    check_files(located)
    source = corpus_cache.scan(located, found_files, cache, meter)
    check(source.sha256)
    settings = {
        "kind": "audio",
        "channel": config.channel,
        "on_bad_file": config.on_bad_file,
    }
    recordings = Recordings(config, source)
    if codec is None:
        codec = _configured(config, settings, recordings, catalogue)
    quantiser = codec
    corpus = corpus_cache.load(
        source, settings, codec, lambda stream: recordings.encode(quantiser, stream)
    )
    if search.left_out or search.bad.errors:
        corpus = dataclasses.replace(
            corpus,
            skipped=corpus.skipped + len(search.bad.errors),
            unreadable_files=corpus.unreadable_files + len(search.bad.errors),
            notes=(*corpus.notes, search.note(len(source.files))),
        )
    return corpus


def _configured(
    config: DataConfig,
    settings: Mapping[str, Any],
    recordings: Recordings,
    catalogue: Catalogue,
) -> Quantiser:
    """The quantiser that the keys ask for, as it was found before or is found now."""
    kind = quantiser_kind(config, catalogue)
    wanted = {
        **settings,
        "codec": kind.name,
        "code": codecs.fingerprint(kind),
        "sample_rate": config.sample_rate,
        "levels": config.levels,
        "gain": config.gain,
    }
    for key in ("channels", "symbols_per_sample"):
        if (value := getattr(config, key)) > 1:  # so that older caches are found
            wanted[key] = value
    source = recordings.source
    found = corpus_cache.find_codec(source, wanted, catalogue, lambda: recordings.codec(kind))
    assert isinstance(found, Quantiser)
    return found


def check_files(located: Located) -> None:
    """Raise BadFileError for a path that is a file of text."""
    for path in located.paths:
        if not is_folder(path):
            _check_not_text(path)


def quantiser_kind(config: DataConfig, catalogue: Catalogue) -> type[Quantiser]:
    """The class of quantisers that `config` asks for."""
    kind = codecs.find("mu_law" if config.codec == "auto" else config.codec, catalogue)
    assert issubclass(kind, Quantiser)
    return kind


def _check_not_text(file: Path) -> None:
    """Raise BadFileError for text."""
    begin = files.head(file)
    text = begin and not Choice("text").against_content("", begin)
    if text and not reader.is_sound(file):
        raise BadFileError(file, "cannot be read as sound: it is text", TEXT_HINT)


def check_same(config: DataConfig, codec: Quantiser) -> None:
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
    for key in ("channels", "symbols_per_sample"):
        wanted, trained = getattr(config, key), getattr(codec, key)
        if wanted not in (trained, 1):
            raise ConfigError(
                f"data.{key}={wanted}: the checkpoint was trained with {trained}; leave the key out"
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
