"""The codec of files, and which cannot be read: passes over them before they are encoded."""

import contextlib
import hashlib
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.config import HIGHEST_RATE, DataConfig, bands_of
from seqkit.data import codecs
from seqkit.data.codecs import Bytes, Characters, Codec, Quantiser, TextCodec, code_points
from seqkit.data.codecs.channels import angles, merged
from seqkit.data.codecs.characters import counts_of
from seqkit.data.files import BadFileError, blocks, head, is_text
from seqkit.data.shards.plan import Pool, Work, cut_of, plan, size_of
from seqkit.data.shards.source import Source
from seqkit.data.sound.reader import SoundReader
from seqkit.data.sound_encoder import (
    SHORTEST,
    Decoded,
    Loudness,
    Sums,
    emphases_of,
    measure,
    share,
)
from seqkit.data.text_encoder import pieces_of
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.wording import first_of
from seqkit.foundation.workers import Watch
from seqkit.symbols import Floats, Integers

_FAINTER, _EMPTY = 1e3, 1e7  # times the size, and the power, of a band: 60 and 70 dB
_CONSTANT = 0.999  # of its peak's square: the mean square of a sound that does not change


@dataclass(frozen=True)
class CodecChoice:
    """What the first passes found, as JSON values.

    codec: its spec.
    bad: the files that are left out because they cannot be read, and why.
    symbols: how many there are at least, None where that is not known.
    sha256: of the raw data, where it was asked for.
    others: of files whose sha256 `data.sha256` does not have, by their names.
    """

    codec: dict[str, Any]
    bad: dict[str, str]
    symbols: int | None = None
    sha256: str = ""
    others: dict[str, str] = field(default_factory=dict)


def sha256_of(source: Source, pool: Pool) -> tuple[str, dict[str, str]]:
    """The hash of a file, or of a folder's listing as `sha256sum` prints it. Raises DataError.

    With it, by their names, those of files that `data.sha256` does not have.
    """
    files = source.files
    hashes = pool.each("hashing", _hash, None, [*files.values()], source.bytes)
    of_files, meant = dict(zip(files, hashes, strict=True)), source.config.sha256
    sha256 = hashes[0]
    if source.located.others or source.located.path.is_dir():
        listing = "".join(f"{sha256}  {name}\n" for name, sha256 in of_files.items())
        sha256 = hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()
    return sha256, {name: each for name, each in of_files.items() if meant and each not in meant}


def choose_codec(
    source: Source, pool: Pool, codec: Codec | None = None, grow: bool = False
) -> CodecChoice:
    """The codec of the files: the given one, grown if that is asked for, or one as configured.

    Raises:
        DataError: a file cannot be read, or changed; or all are left out.
    """
    with source.hints():
        if source.is_sound:
            assert codec is None or isinstance(codec, Quantiser)
            choice = CodecChoice(codecs.spec_of(codec or _quantiser(source, pool)), {})
        else:
            assert codec is None or isinstance(codec, TextCodec)
            choice = _of_text(source, pool, codec, grow)
    kind, document = codecs.from_spec(choice.codec, source.catalogue).kind, source.config.document
    if kind != "text" and document != "file":
        raise ConfigError(f"data.document={document}: {source.located} is read as {kind}, not cut")
    if kind != "text" and source.config.leave_out:
        raise ConfigError(
            f"data.leave_out={source.config.leave_out!r}: {source.located} is read as {kind}, not "
            "as characters: leave the key out"
        )
    source.check_unchanged()
    return choice


def nothing_left(source: Source, left_out: Mapping[str, str]) -> str:
    """Why there is nothing to learn from; `left_out` says so of files by their names."""
    why = first_of([f"{source.files[name]} ({reason})" for name, reason in left_out.items()])
    if "silent" in left_out.values():
        why += f": give a recording in which at least {SHORTEST * 1000:g} ms can be heard"
        why += ", or one of its channels alone, data.channel=0"  # opposite ones mix to silence
    return f"{source.located}: nothing is left to learn from{why and ': '}{why}"


def _of_text(source: Source, pool: Pool, codec: TextCodec | None, grow: bool) -> CodecChoice:
    config, files = source.config, source.documents
    kind = type(codec) if codec else _text_codec_kind(source)
    characters = codec is None and kind is Characters
    counts, bad = np.zeros(0, np.int64), dict[str, str]()
    if characters or config.on_bad_file == "skip":
        counts, bad = _survey(source, pool, kind.kind)
    if len(bad) == len(files) or (characters and not counts.any()):  # or all of it is line ends
        raise DataError(nothing_left(source, bad))
    good = {name: file for name, file in files.items() if name not in bad}
    if characters:
        new = Characters.from_counts(counts, config.max_vocabulary)
        return CodecChoice(codecs.spec_of(new), bad, int(counts[code_points(new.vocabulary)].sum()))
    work = plan(good, cut=None)
    size = size_of(work)
    least = size if kind is Bytes and not config.of_rows else None
    if codec is not None and not grow:
        return CodecChoice(codecs.spec_of(codec), bad, least)
    what = "fit" if codec is None else "grown"
    with codecs.failures(kind, what), pool.meter.shown("finding the characters", size):
        slices = itertools.chain.from_iterable(work)
        each = (pieces_of(span, kind.kind, config, pool.meter.add) for span in slices)
        pieces = itertools.chain.from_iterable(each)
        try:
            if codec is None:
                return CodecChoice(
                    codecs.spec_of(kind.fit(pieces, config.max_vocabulary)), bad, least
                )
            grown = codec.grown(pieces, config.max_vocabulary)
        except ValueError as error:
            raise DataError(f"{source.located}: {error}") from error
        if not isinstance(grown, kind):
            raise TypeError(f"it gave a {type(grown).__name__}")
        return CodecChoice(codecs.spec_of(grown), bad, least)


def _text_codec_kind(source: Source) -> type[TextCodec]:
    """The class of codecs for the files, as the keys ask for it, or by their content."""
    config = source.config
    if config.codec != "auto":
        kind = codecs.find(config.codec, source.catalogue)
        assert issubclass(kind, TextCodec)
        return kind
    raw = config.kind == "bytes"
    if config.kind == "auto":
        raw = not any(_begins_as_text(file, config.encoding) for file in source.files.values())
    return Bytes if raw else Characters


def _begins_as_text(file: Path, encoding: str) -> bool:
    """Whether data.kind=auto takes a file for text: if it is in another encoding, that is told."""
    with contextlib.suppress(BadFileError):
        return is_text(head(file), encoding)
    return False


def _survey(source: Source, pool: Pool, kind: str) -> tuple[Integers, dict[str, str]]:
    """How often each code point occurs in the files that are text, and why the others are not."""
    work = plan(source.documents, cut=cut_of(kind, source.config))
    shared = (source.config, kind)
    surveys = pool.each("finding the characters", _survey_some, shared, work, size_of(work))
    bad = {name: why for _, bad in surveys for name, why in bad.items()}
    counts = np.zeros(sys.maxunicode + 1, np.int64)
    for each, _ in surveys:
        for name, points, times in each:
            if name not in bad:
                counts[points] += times
    return counts, bad


def _survey_some(
    shared: tuple[DataConfig, str], work: Work, watch: Watch
) -> tuple[list[tuple[str, Integers, Integers]], dict[str, str]]:
    """How often code points occur in some files, and which cannot be read. Raises DataError."""
    config, kind = shared
    parts, bad = list[tuple[str, Integers, Integers]](), dict[str, str]()
    whole = np.zeros(sys.maxunicode + 1, np.int64)
    for span in work:
        pieces = pieces_of(span, kind, config, watch)
        with _left_out(span.name, bad, config):
            counts = counts_of(piece for piece in pieces if isinstance(piece, str))
            if span.is_part:  # another part of it may be bad
                present = np.flatnonzero(counts)
                parts.append((span.name, present, counts[present]))
            else:
                whole += counts
    present = np.flatnonzero(whole)
    return [*parts, ("", present, whole[present])], bad


def _quantiser(source: Source, pool: Pool) -> Quantiser:
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
    frame = {"channels": config.channels, "symbols_per_sample": config.symbols_per_sample}
    frame["bands"] = bands_of(config.bands, rate)
    spec: dict[str, Any] = {"levels": config.levels, "sample_rate": rate, "gain": 1.0, **frame}
    with codecs.failures(kind, "constructor"):
        codec = kind.from_spec(spec)
    if config.gain != "none" or config.emphasis != "none":
        work = plan(source.documents, cut=None)
        size = size_of(work)
        if codec.channels > 1 and codec.bands > 1:
            sums = pool.each("comparing the channels", _share_some, (config, rate), work, size)
            spec["band_angles"] = angles(np.sum(sums, 0), merged(codec.bands, rate))
            codec = kind.from_spec(spec)
        settings = (config, rate, codec.turns, source.decoded)
        each = pool.each("measuring the level", _measure_some, settings, work, size)
        loudness, bad = Loudness.of_nothing(config, rate), dict[str, str]()
        for of_file, left_out in each:  # in their order, by which sums are rounded
            loudness.include(of_file)
            bad |= left_out
        if loudness.silent:
            silent = dict.fromkeys(source.files, "silent")
            raise DataError(nothing_left(source, silent | bad))
        gains, emphases = _cheapest(codec, loudness, config)
        chosen: dict[str, Any] = {"gain": gains[0], "emphasis": emphases[0]}
        if codec.bands > 1:
            chosen = {"band_gains": gains, "band_emphases": emphases}
        with codecs.failures(kind, "constructor"):
            codec = kind.from_spec(spec | chosen)
    return codec


def _cheapest(
    codec: Quantiser, loudness: Loudness, config: DataConfig
) -> tuple[list[float], list[float]]:
    """The gain and the emphasis of each value of a frame with which quantising costs least.

    One 60 dB below the loudest has the largest gain. One 70 dB below on average is left out: what
    others leak into it is nothing to learn. So is the second value of a merged band.
    """
    emphases, count = np.array(emphases_of(config))[:, None], loudness.count
    with np.errstate(divide="ignore"):
        measured = (loudness.gains(config.gain), loudness.peak, loudness.size, loudness.square)
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
    rates, bad = Counter[int](), dict[str, str]()
    for name, file in source.documents.items():
        with _left_out(name, bad, source.config):
            rates[SoundReader(file).sample_rate] += 1
    if not rates:
        raise DataError(nothing_left(source, bad))
    return max(rates, key=lambda rate: (rates[rate], rate))


def _share_some(shared: tuple[DataConfig, int], work: Work, watch: Watch) -> Sums:
    """What `share` adds up of some recordings, but for those that cannot be read."""
    config, rate = shared
    sums = np.zeros((3, bands_of(config.bands, rate)))
    for span in work:
        with _left_out(span.name, {}, config):
            sums += share(span.file, rate, config, watch)
    return sums


def _measure_some(
    shared: tuple[DataConfig, int, Floats | None, Decoded], work: Work, watch: Watch
) -> tuple[Loudness, dict[str, str]]:
    """How loud some recordings are, and which cannot be read. Raises DataError."""
    config, rate, turns, decoded = shared
    loudness, bad = Loudness.of_nothing(config, rate), dict[str, str]()
    for span in work:
        with _left_out(span.name, bad, config):
            loudness.include(measure(span.file, rate, config, turns, decoded, watch))
    return loudness, bad


@contextlib.contextmanager
def _left_out(name: str, bad: dict[str, str], config: DataConfig) -> Iterator[None]:
    """Put down why a file cannot be read, where such files are to be left out."""
    try:
        yield
    except BadFileError as error:
        if config.on_bad_file != "skip":
            raise
        bad[name] = error.reason


def _hash(_: None, file: Path, watch: Watch) -> str:
    """The hash of a file's content. Raises BadFileError."""
    digest = hashlib.sha256()
    for block in blocks(file, watch):
        digest.update(block)
    return digest.hexdigest()
