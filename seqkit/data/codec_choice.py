"""The codec of files: passes over them before they are encoded."""

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from seqkit.config import HIGHEST_RATE, bands_of
from seqkit.data import codecs
from seqkit.data.codecs import Bytes, Characters, Codec, Quantiser, TextCodec
from seqkit.data.codecs.channels import angles, merged
from seqkit.data.files import head, is_text
from seqkit.data.sound.reader import SoundReader
from seqkit.data.sound_encoder import SHORTEST, Loudness, emphases_of, measure, share
from seqkit.data.source import Source
from seqkit.data.text_encoder import pieces_of
from seqkit.foundation.console import Progress
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.wording import first_of

_FAINTER, _EMPTY = 1e3, 1e7  # times the size, and the power, of a band: 60 and 70 dB
_CONSTANT = 0.999  # of its peak's square: the mean square of a sound that does not change


def choose_codec(
    source: Source, progress: Progress, codec: Codec | None = None, grow: bool = False
) -> Codec:
    """The codec of the files: the given one, grown if that is asked for, or one as configured.

    Raises:
        DataError: a file cannot be read, or all are left out.
        ConfigError: keys that do not fit the codec.
    """
    chosen = codec
    if source.is_sound:
        chosen = codec or _quantiser(source, progress)
    elif codec is None or grow:
        assert codec is None or isinstance(codec, TextCodec)
        chosen = _of_text(source, progress, codec)
    assert chosen is not None
    kind, config = chosen.kind, source.config
    if kind != "text" and config.document != "file":
        raise ConfigError(
            f"data.document={config.document}: {source.located} is read as {kind}, not cut"
        )
    if kind != "text" and config.leave_out:
        raise ConfigError(
            f"data.leave_out={config.leave_out!r}: {source.located} is read as {kind}, not as "
            "characters: leave the key out"
        )
    return chosen


def nothing_left(source: Source, left_out: Mapping[str, str]) -> DataError:
    """That there is nothing to learn from; `left_out` says why, of files by their names."""
    reasons = [f"{error.file} ({error.reason})" for error in source.search.errors]
    reasons += [f"{source.files[name]} ({reason})" for name, reason in left_out.items()]
    why = first_of(reasons)
    if "silent" in left_out.values():
        why += f": give a recording in which at least {SHORTEST * 1000:g} ms can be heard"
        why += ", or one of its channels alone, data.channel=0"  # opposite ones mix to silence
    return DataError(f"{source.located}: nothing is left to learn from{why and ': '}{why}")


def _of_text(source: Source, progress: Progress, codec: TextCodec | None) -> TextCodec:
    """The codec of a text, or the given one, grown by what is new in it."""
    config = source.config
    kind = type(codec) if codec else kind_of_text(source)
    what = "fit" if codec is None else "grown"
    shown = progress("finding the characters", source.bytes, unit="B")
    with codecs.failures(kind, what), shown as bar:
        read = (pieces_of(file, kind.kind, config, bar.add) for file in source.documents.values())
        pieces, most = chain.from_iterable(read), config.max_vocabulary
        try:
            made = kind.fit(pieces, most) if codec is None else codec.grown(pieces, most)
        except ValueError as error:
            raise DataError(f"{source.located}: {error}") from error
        if not isinstance(made, kind):
            raise TypeError(f"it gave a {type(made).__name__}")
    return made


def kind_of_text(source: Source) -> type[TextCodec]:
    """The class of codecs for the files, as the keys ask for it, or by their content."""
    config = source.config
    if config.codec != "auto":
        kind = codecs.find(config.codec, source.catalogue)
        assert issubclass(kind, TextCodec)
        return kind
    raw = config.kind == "bytes"
    if config.kind == "auto":
        raw = not any(is_text(head(file), config.encoding) for file in source.files.values())
    return Bytes if raw else Characters


def _quantiser(source: Source, progress: Progress) -> Quantiser:
    """The quantiser that the keys ask for; the gain takes a pass over all files.

    Raises:
        DataError: a file cannot be read, none holds sound, or their rate is too high.
    """
    config = source.config
    kind = codecs.find("mu_law" if config.codec == "auto" else config.codec, source.catalogue)
    assert issubclass(kind, Quantiser)
    rate = config.sample_rate or _common_rate(source)
    if rate > HIGHEST_RATE:
        raise DataError(
            f"{next(iter(source.documents.values()))}: a sample rate of {rate} Hz, and "
            f"{HIGHEST_RATE} is the highest that is learnt: give data.sample_rate=48000"
        )
    frame = {"channels": config.channels, "bands": bands_of(config.bands, rate)}
    spec: dict[str, Any] = {"levels": config.levels, "sample_rate": rate, "gain": 1.0, **frame}
    with codecs.failures(kind, "constructor"):
        codec = kind.from_spec(spec)
    if config.gain != "none" or config.emphasis != "none":
        if codec.channels > 1 and codec.bands > 1:
            sums = np.zeros((3, codec.bands))
            with progress("comparing the channels", source.bytes, unit="B") as bar:
                for file in source.documents.values():
                    sums += share(file, rate, config, bar.add)
            spec["band_angles"] = angles(sums, merged(codec.bands, rate))
            codec = kind.from_spec(spec)
        gains, emphases = _cheapest(codec, _loudness(source, codec, progress), source)
        chosen: dict[str, Any] = {"gain": gains[0], "emphasis": emphases[0]}
        if codec.bands > 1:
            chosen = {"band_gains": gains, "band_emphases": emphases}
        with codecs.failures(kind, "constructor"):
            codec = kind.from_spec(spec | chosen)
    return codec


def _loudness(source: Source, codec: Quantiser, progress: Progress) -> Loudness:
    """How loud the recordings are, at the codec's rate. Raises DataError where all are silent."""
    rate = codec.sample_rate
    loudness = Loudness.of_nothing(source.config, rate)
    with progress("measuring the level", source.bytes, unit="B") as bar:
        for file in source.documents.values():
            loudness.include(measure(file, rate, source.config, codec.turns, bar.add))
    if loudness.silent:
        raise nothing_left(source, dict.fromkeys(source.documents, "silent"))
    return loudness


def _cheapest(
    codec: Quantiser, loudness: Loudness, source: Source
) -> tuple[list[float], list[float]]:
    """The gain and the emphasis of each value of a frame with which quantising costs least.

    One 60 dB below the loudest has the largest gain. One 70 dB below on average is left out: what
    others leak into it is nothing to learn. So is the second value of a merged band.
    """
    emphases, count = np.array(emphases_of(source.config))[:, None], loudness.count
    with np.errstate(divide="ignore"):
        gains_of_all = loudness.gains(source.config.gain)
    measured = (gains_of_all, loudness.peak, loudness.size, loudness.square)
    of_bands = [each[codec.bands > 1 :].reshape(len(emphases), -1) for each in measured]
    gains, peak, size, square = of_bands  # (emphases, columns)
    columns = np.arange(size.shape[1])
    heard = square[0] > square[0].max() / _EMPTY
    if codec.channels > 1 and codec.bands > 1:
        heard &= (columns % 2 == 0) | ~np.repeat(merged(codec.bands, codec.sample_rate), 2)
    if not heard.any():
        return [1.0] * len(columns), [0.0] * len(columns)
    gains = np.minimum(gains, _FAINTER * gains[0].min())
    rounding = np.vectorize(codec.rounding, otypes=[float])
    errors = rounding(gains * size / count, gains**2 * square / count)
    # White errors become as loud as this when the emphasis is undone; a constant's are not white.
    errors = errors / gains**2 / (1 - emphases**2)
    errors[1:, square[0] > _CONSTANT * count * peak[0] ** 2] = np.inf
    best = errors.argmin(0)
    return np.where(heard, gains[best, columns], 0.0).tolist(), emphases[best, 0].tolist()


def _common_rate(source: Source) -> int:
    """The sample rate of most files."""
    rates = Counter(SoundReader(file).sample_rate for file in source.documents.values())
    return max(rates, key=lambda rate: (rates[rate], rate))
