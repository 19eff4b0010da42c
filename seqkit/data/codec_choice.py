"""The codec of files: passes over them before they are encoded."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any

import numpy as np

from seqkit.config import HIGHEST_RATE
from seqkit.data import codecs
from seqkit.data.codecs import Bytes, Characters, Codec, Quantiser, SoundCodec, Spectral, TextCodec
from seqkit.data.codecs.spectral.codec import excerpt
from seqkit.data.codecs.spectral.transform import OVERLAP, Transform
from seqkit.data.datasets import Source
from seqkit.data.encoders import pieces_of
from seqkit.data.sound import Frames
from seqkit.data.sound.encoder import SHORTEST, SILENT, frames_of
from seqkit.data.sound.reader import TRACKS, SoundReader
from seqkit.foundation.console import Progress
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.machine import own_cores
from seqkit.foundation.wording import first_of
from seqkit.symbols import Floats

_FULL_RATE = 48_000  # hertz, beyond which nothing is heard
_FITTED = 1 << 26  # samples that a codec is fitted to
_LENGTHS = (0.5, 1, 2)  # of the windows that are tried, in those of the middle one
_MIDDLE = 0.046  # seconds, the length of the middle one of three
_HEARD = ((1 / 8, 16), (1 / 2, 48), (2, 160))  # windows of that length, and bands
_TRIED = 4096  # frames that a codec is fitted to, to try a length
_CORES = 4  # that NumPy makes use of for one length
_RANGE = 60.0  # decibels that are heard below the loudest
_BETTER = 0.77  # of the error of the middle length; from 0.8 on a guitar would flicker
_MEL = 700.0  # hertz, below which bands are as wide as each other


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
        chosen = codec or _of_sound(source, progress)
    elif codec is None or grow:
        assert codec is None or isinstance(codec, Characters)
        chosen = _of_text(source, progress, codec)
    assert chosen is not None
    kind, config = chosen.kind, source.config
    if kind != "text" and config.document != "file":
        raise ConfigError(
            f"data.document={config.document}: {source.located} is read as {kind}, not cut"
        )
    return chosen


def nothing_left(source: Source, left_out: Mapping[str, str]) -> DataError:
    """That there is nothing to learn from; `left_out` says why, of files by their names."""
    reasons = [f"{error.file} ({error.reason})" for error in source.search.errors]
    reasons += [f"{source.files[name]} ({reason})" for name, reason in left_out.items()]
    why = first_of(reasons)
    names = [name for name, reason in left_out.items() if reason.startswith("silent")]
    silent = [SoundReader(source.files[name]) for name in names]
    blocks = chain.from_iterable(recording.all_channels() for recording in silent)
    if silent:  # or mixed to silence, as opposite channels are
        least = f"{SHORTEST * 1000:g} ms can be heard"
        why += f": give a recording, made louder if need be, in which at least {least}"
        if source.config.channel == "mix" and any(np.ptp(frames, 1).any() for frames in blocks):
            why += ", or one of its channels alone, data.channel=0"
        elif any(recording.has_more for recording in silent):
            why += f"; of its sound tracks the first is read: {TRACKS}"
    return DataError(f"{source.located}: nothing is left to learn from{why and ': '}{why}")


def _of_text(source: Source, progress: Progress, codec: Characters | None) -> TextCodec:
    """The codec of a text, or the given one, grown by what is new in it."""
    config = source.config
    kind = type(codec) if codec else kind_of_text(source)
    what = "fit" if codec is None else "grown"
    shown = progress("finding the characters", source.bytes, unit="B")
    with codecs.failures(kind, what), shown as bar:
        read = (pieces_of(file, kind.kind, config, bar.add) for file in source.documents.values())
        pieces: Iterable[Any] = chain.from_iterable(read)
        most = config.max_vocabulary
        try:
            made = kind.fit(pieces, most) if codec is None else codec.grown(pieces, most)
        except ValueError as error:
            raise DataError(f"{source.located}: {error}") from error
        if not isinstance(made, kind):
            raise TypeError(f"it gave a {type(made).__name__}")
    return made


def kind_of_text(source: Source) -> type[TextCodec]:
    """The class of codecs for the files, as the keys ask for it."""
    config = source.config
    if config.codec != "auto":
        kind = codecs.find(config.codec, source.catalogue)
        assert issubclass(kind, TextCodec)
        return kind
    return Bytes if config.kind == "bytes" else Characters


def _of_sound(source: Source, progress: Progress) -> SoundCodec:
    """The codec of sound that the keys ask for. Some take a pass over all files.

    Raises:
        DataError: a file cannot be read, none holds sound, or their rate is too high.
        ConfigError: keys that do not fit each other.
    """
    config = source.config
    kind = codecs.find("mu_law" if config.codec == "auto" else config.codec, source.catalogue)
    if kind is Spectral:
        return _spectral(source, progress)
    assert issubclass(kind, Quantiser)
    if config.channels == 2:
        raise ConfigError("data.channels=2: give data.codec=spectral")
    rate = config.sample_rate or _common_rate(source)
    if rate > HIGHEST_RATE:
        raise DataError(
            f"{next(iter(source.documents.values()))}: a sample rate of {rate} Hz, and "
            f"{HIGHEST_RATE} is the highest that is learnt: give data.sample_rate=48000"
        )
    gain = 1.0
    if config.gain == "peak":
        blocks = _all_frames(source, rate, 1, "measuring the level", progress)
        peak = max(float(np.abs(frames).max(initial=0)) for frames in blocks)
        if peak < SILENT:
            raise nothing_left(source, dict.fromkeys(source.documents, "silent"))
        gain = 1 / peak
    with codecs.failures(kind, "constructor"):
        return kind.from_spec({"levels": config.levels, "sample_rate": rate, "gain": gain})


def _spectral(source: Source, progress: Progress) -> Spectral:
    """The codec that fits the recordings, or of many hours some of each."""
    config = source.config
    if config.gain != "none":
        raise ConfigError(f"data.gain={config.gain}: data.codec=spectral keeps the level as it is")
    rate = config.sample_rate or min(_common_rate(source), _FULL_RATE)
    recordings = [SoundReader(file) for file in source.documents.values()]
    counts = [recording.channels for recording in recordings]
    stereo = config.channel == "mix" and max(counts) == _most(counts) == 2
    channels = config.channels or (2 if stereo else 1)
    seconds = sum(recording.frames / recording.sample_rate for recording in recordings)
    step = int(seconds * rate * channels) // _FITTED + 1  # of so many blocks one is taken
    blocks = _all_frames(source, rate, channels, "reading the sound", progress)
    samples = np.concatenate([*islice(blocks, None, None, step)])
    if config.channels is None and (samples == samples[:, :1]).all():
        samples = samples[:, :1]  # a channel twice, as some recorders write it
    peak = float(np.abs(samples).max(initial=0))
    if peak < SILENT:
        raise nothing_left(source, dict.fromkeys(source.documents, "silent"))
    with progress("fitting the codec", len(_LENGTHS) + 1, unit="fits") as bar:
        return Spectral.fit(samples, rate, choose_window(samples, rate, bar.add))


def _all_frames(
    source: Source, rate: int, channels: int, what: str, progress: Progress
) -> Iterator[Frames]:
    """The samples (n, C) of all files, in blocks. Raises BadFileError."""
    config = source.config
    with progress(what, source.bytes, unit="B") as bar:
        for file in source.documents.values():
            recording = SoundReader(file, centred=config.codec == Spectral.name)
            yield from frames_of(recording, rate, channels, config, bar.add)


def _common_rate(source: Source) -> int:
    """The sample rate of most files."""
    return _most(SoundReader(file).sample_rate for file in source.documents.values())


def _most(numbers: Iterable[int]) -> int:
    """The number that there is most often, the largest of several."""
    counts = Counter(numbers)
    return max(counts, key=lambda number: (counts[number], number))


def choose_window(
    samples: Frames, sample_rate: int, done: Callable[[int], object] = lambda count: None
) -> int:
    """The length N of the windows for samples (n, C), n > 0; `done` is told of each tried.

    Long ones are for tones, short ones for speech and drums. Of each length a codec is fitted to
    frames of all the recording. The error is the mean difference in decibels between some seconds
    of it and what the codec makes of these, as few bands in short windows hear it (attacks), as
    many bands in long ones (partials), and as between the two. The middle length is taken unless
    another one is clearly better.
    """
    middle: int = max(2 ** round(np.log2(sample_rate * _MIDDLE)), 64)
    part = excerpt(samples, sample_rate)

    def error_of(size: int) -> float:
        codec = Spectral.fit(samples, sample_rate, size, _TRIED)
        return error(part, codec.unlimited()(codec.encode(part), True), sample_rate, middle)

    errors, sizes = dict[int, float](), [round(share * middle) for share in _LENGTHS]
    with ThreadPoolExecutor(max(own_cores() // _CORES, 1)) as pool:
        for size, found in zip(sizes, pool.map(error_of, sizes), strict=True):
            errors[size] = found
            done(1)
    best = min(errors, key=errors.__getitem__)
    return best if errors[best] < _BETTER * errors[middle] else middle


def error(samples: Frames, made: Frames, sample_rate: int, middle: int) -> float:
    """The decibels by which sounds (n, C) differ, heard around windows of `middle` samples."""
    differences = []
    for share, bands in _HEARD:
        size = round(share * middle)
        wanted = _levels(samples, size, sample_rate, bands)
        heard = _levels(made[: len(samples)], size, sample_rate, bands)
        differences.append(np.abs(wanted - heard).mean())
    return float(np.mean(differences))


def _levels(samples: Frames, size: int, sample_rate: int, bands: int) -> Floats:
    """Decibels (F, C, bands) above what is not heard."""
    transform = Transform(size)
    spectra = transform.at(samples, np.arange(0, len(samples), size // OVERLAP))
    top = np.log1p(sample_rate / 2 / _MEL)
    hertz = _MEL * np.expm1(np.arange(bands) * top / bands)
    edges = np.unique(np.rint(hertz * size / sample_rate).astype(int))
    powers = np.add.reduceat(spectra.real**2 + spectra.imag**2, edges, -1)
    least = powers.max(initial=0) * 10 ** (-_RANGE / 10) + 1e-12
    return np.asarray(10 * np.log10(powers + least))
