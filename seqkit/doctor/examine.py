"""The examination of some data before a training: all that `doctor` tells of it, as JSON values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.config import Config
from seqkit.data.codecs import Characters, Codec, Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.shards import opened
from seqkit.data.symbol_row import StoredSymbols
from seqkit.data.text_reading import encoding_with_mark
from seqkit.doctor import files, sound, sound_faults, text, text_faults, text_hints
from seqkit.doctor.enough import require_enough, require_sound
from seqkit.doctor.fault import Fault
from seqkit.doctor.files import FileFacts
from seqkit.evaluation import baselines
from seqkit.foundation.console import Progress
from seqkit.foundation.wording import counted

_SAMPLE = 1 << 18  # symbols whose baselines are told; more would take more memory
_SHOWN_COUNTS = 1 << 16  # symbols of a vocabulary that are listed
_MOST = 1 << 28  # symbols of shards that are counted, from the first
_NAMED = 3  # files
_BLOCK = 1 << 10  # documents whose first symbols are read at a time
_CLOSER = 3.0  # decibels, from which another quantiser is worth a word


@dataclass(frozen=True)
class Examined:
    """What is known of some data.

    facts: see docs/doctor.md.
    faults: what is wrong with the data, the worst first.
    symbols: of the training part.
    constant: the data are the same symbol again and again.
    """

    facts: Mapping[str, Any]
    faults: list[Fault]
    symbols: int
    constant: bool


def examine(config: Config, corpus: Corpus, progress: Progress) -> Examined:
    """Look at the data of a config.

    Raises:
        DataError: a training with this config would fail, with the least that it needs.
    """
    codec = corpus.codec
    parts = training, validation, _ = corpus.split(config.data.split)
    require_enough(config, corpus, training)
    require_sound(config, corpus)
    is_files = config.data.path and not opened.folder_of(config.data)
    paths, left = files.found(config.data, codec) if is_files else ([], 0)
    with progress("looking for duplicates", len(paths), unit="files") as bar:
        among = files.facts(paths, bar.update)
    if codec.kind == "audio":
        about, faults = _of_sound(config, corpus, codec, paths, progress)
    else:
        about, faults = _of_text(config, corpus, progress)
    if codec.kind == "text":
        faults += map(Fault, text_hints.of(paths, config.data))
    judged = validation if len(validation) else corpus.whole  # as the run's report does
    sample, names = min(len(judged), _SAMPLE), _baselines(codec)
    with progress("baselines", sample * len(names), unit="symbols") as bar:
        beside = baselines.baselines(judged, codec, names, _SAMPLE, bar.update)
    facts = {
        "data": corpus.record(),
        "kind": codec.kind,
        "symbols": len(corpus.whole),
        "split": dict(zip(("training", "validation", "test"), map(len, parts), strict=True)),
        "files": _of_files(among, corpus, left + corpus.unreadable_files),
        **about,
        "baselines": {
            **beside,
            "part": "validation" if judged is validation else "all",
            "symbols": len(judged),
            "sample": sample,
        },
    }
    faults = [*faults, *_file_faults(among)]
    return Examined(facts, faults, len(training), constant=training.is_constant)


def _baselines(codec: Codec) -> list[str]:
    """All that the run's report and `evaluate` have."""
    return [*dict.fromkeys((*baselines.of_run(codec), *baselines.beside_score(codec)))]


def _of_text(
    config: Config, corpus: Corpus, progress: Progress
) -> tuple[dict[str, Any], list[Fault]]:
    part, codec = corpus.whole, corpus.codec
    row = part.symbols
    if isinstance(row, StoredSymbols) and row.in_shards and len(part) > _MOST:
        part = Part(row.cut(0, _MOST), part.starts[part.starts < _MOST])
    with progress("counting", len(part), unit="symbols") as bar:
        found = text.facts(part, codec, bar.update)
    odd = text.odd_characters(found, codec)
    order = np.argsort(-found.counts, kind="stable")
    listed = [int(symbol) for symbol in order[:_SHOWN_COUNTS] if found.counts[symbol]]
    names = (
        list(codec.vocabulary)
        if isinstance(codec, Characters)
        else [text.name_of(codec, symbol) for symbol in range(codec.size)]
    )
    facts = {
        "vocabulary": {
            "size": codec.size,
            "counts": [[names[symbol], int(found.counts[symbol])] for symbol in listed],
            "odd": odd,
            "rare": text.rare(found),
        },
        "lines": {
            "count": found.lines,
            "median": found.line_median,
            "95_percent": found.line_95,
            "longest": found.line_longest,
        },
        "repeated": {"share": found.repeated, "sample": found.sampled},
    }
    without_mark = encoding_with_mark(config.data.encoding)
    marked = 0 if config.data.of_rows else _marked(part, codec, without_mark)
    faults = text_faults.of(
        found, odd, len(part), codec.kind, marked, without_mark, in_shards=part.in_shards
    )
    return {"text": facts}, [*faults]


def _marked(part: Part, codec: Codec, encoding: str) -> int:
    """How many documents begin with a byte order mark that this encoding would leave out.

    UTF-16 and UTF-32 need one in all of them. Shards are read as they were made.
    """
    mark = codec.vocabulary.find("\ufeff") if isinstance(codec, Characters) else -1
    if mark < 0 or part.in_shards:
        return 0
    blocks = range(0, len(part.starts), _BLOCK)
    marked = sum(int((part.symbols[part.starts[at : at + _BLOCK]] == mark).sum()) for at in blocks)
    return marked if encoding == "utf-8-sig" or marked == len(part.starts) else 0


def _of_sound(
    config: Config, corpus: Corpus, codec: Quantiser, paths: list[Path], progress: Progress
) -> tuple[dict[str, Any], list[Fault]]:
    """Of the files, or, of a data set that has none of its own here, of its symbols."""
    seconds = len(corpus.whole) / codec.symbol_rate
    found = None
    if paths:
        with progress("listening", len(paths), unit="files") as bar:
            found = sound.facts(paths, config.data.channel, codec.gain, bar.update)
    levels = found.levels if found else sound_faults.heard(corpus, codec)
    facts: dict[str, Any] = {
        "seconds": seconds,
        "sample_rate": codec.sample_rate,
        "levels": codec.levels,
        "peak": levels.peak,
        "offset": levels.offset,
        "silence": levels.silence,
        "snr_db": corpus.snr,
    }
    clipped = 0.0
    if found:
        clipped = found.clipped_share
        facts |= {
            "rates": {str(rate): count for rate, count in found.rates.most_common()},
            "channels": {str(count): files for count, files in found.channels.most_common()},
            "empty_channels": found.empty_channels,
            "silent": [str(file) for file in found.silent],
            "shortest": min(found.seconds, default=None),
            "longest": max(found.seconds, default=None),
            "clipped": clipped,
            "snr_of_256_levels_db": {**found.snr, "sample": found.quantised},
        }
    faults = [*sound_faults.of_levels(levels, seconds, codec.gain, clipped)]
    return {"sound": facts}, [*faults, *_format_faults(found, codec)]


def _format_faults(found: sound.SoundFacts | None, codec: Quantiser) -> Iterator[Fault]:
    if found is None:
        return
    if found.empty_channels:
        count = found.empty_channels
        yield Fault(
            f"{count} {'channel holds' if count == 1 else 'channels hold'} no sound, which makes "
            "the mix quieter: data.channel=NUMBER reads one of the others"
        )
    if found.silent:
        shown = ", ".join(map(str, found.silent[:_NAMED]))
        shown += " …" if len(found.silent) > _NAMED else ""
        yield Fault(
            f"{len(found.silent)} of {counted(len(found.seconds), 'file')} left out, since nothing "
            f"is heard in them: {shown}"
        )
    if len(found.rates) > 1:
        rates = ", ".join(f"{rate} Hz ({count})" for rate, count in found.rates.most_common())
        yield Fault(f"the files have different rates, {rates}: all become {codec.sample_rate} Hz")
    mu_law, linear = (found.snr.get(name) for name in ("mu_law", "linear"))
    if (
        codec.name == "mu_law"
        and codec.levels == 256
        and mu_law
        and linear
        and linear > mu_law + _CLOSER
    ):
        yield Fault(
            f"256 linear levels lie closer to this sound ({linear:.1f} dB) than those of mu-law "
            f"({mu_law:.1f} dB): give data.codec=linear",
            {"codec": "linear"},
        )


def _of_files(among: FileFacts, corpus: Corpus, left_out: int) -> dict[str, Any]:
    return {
        "count": len(corpus.whole.starts),
        "left_out": left_out,
        "duplicates": [[str(file), str(original)] for file, original in among.duplicates],
        "nearly_empty": [str(file) for file in among.nearly_empty],
    }


def _file_faults(among: FileFacts) -> Iterator[Fault]:
    if among.duplicates:
        file, original = among.duplicates[0]
        yield Fault(
            f"{len(among.duplicates)} of {len(among.files)} files are there twice, such as "
            f"{file}, the same as {original}: leave the copies out"
        )
    if among.nearly_empty and len(among.files) > 1:
        yield Fault(
            f"{len(among.nearly_empty)} of {len(among.files)} files have less than 64 bytes, "
            f"such as {among.nearly_empty[0]}"
        )
