"""Which codec data get, and whether keys fit the codec of a checkpoint."""

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data import codecs
from seqkit.data.codecs import Bytes, Characters, Quantiser, TextCodec
from seqkit.data.files import BadFileError, head, is_text
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.plugins import Catalogue


def quantiser_kind(config: DataConfig, catalogue: Catalogue) -> type[Quantiser]:
    """The class of quantisers that `config` asks for."""
    kind = codecs.find("mu_law" if config.codec == "auto" else config.codec, catalogue)
    assert issubclass(kind, Quantiser)
    return kind


def text_codec_kind(
    config: DataConfig, files: Iterable[Path], catalogue: Catalogue
) -> type[TextCodec]:
    """The class of codecs for some files, as `config` asks for it, or by their content."""
    if config.codec != "auto":
        kind = codecs.find(config.codec, catalogue)
        assert issubclass(kind, TextCodec)
        return kind
    raw = config.kind == "bytes"
    if config.kind == "auto":
        raw = not any(_begins_as_text(file, config.encoding) for file in files)
    return Bytes if raw else Characters


def _begins_as_text(file: Path, encoding: str) -> bool:
    """Whether data.kind=auto takes a file for text: if it is in another encoding, that is told."""
    with contextlib.suppress(BadFileError):
        return is_text(head(file), encoding)
    return False


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
