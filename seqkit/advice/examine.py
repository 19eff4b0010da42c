"""The examination of some data before a training: all that `doctor` tells of it, as JSON values."""

import contextlib
import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from seqkit.advice import sound, text
from seqkit.advice.faults import Fault, require_enough
from seqkit.config import Config
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus
from seqkit.data.file_search import Search
from seqkit.data.files import BadFileError, blocks
from seqkit.data.sound.part import SoundPart
from seqkit.evaluation import baselines
from seqkit.foundation.console import Progress

_NEARLY_EMPTY = 64  # bytes


def examine(
    config: Config, corpus: Corpus, progress: Progress
) -> tuple[dict[str, Any], list[Fault]]:
    """The facts of a config's data (docs/reference/doctor.md), and what is wrong, the worst first.

    Raises:
        DataError: a training with this config would fail, with the least that it needs.
    """
    codec = corpus.codec
    parts = training, validation, _ = corpus.split(config.data.split)
    require_enough(config, corpus, training)
    paths, left_out = list[Path](), corpus.unreadable_files
    if config.data.path:
        search = Search.of(config.data, codec.kind)
        paths = [*search.named([*map(Path, config.data.path)]).values()]
        left_out += search.left_out.total()
    with progress("looking for duplicates", len(paths), unit="files") as bar:
        duplicates, small = _alike_and_small(paths, bar.update)
    if codec.kind == "audio":
        about, faults = _of_sound(corpus, codec, paths, progress)
    else:
        about, faults = _of_text(config, corpus, paths, progress)
    judged = validation if len(validation) else corpus.whole  # as the run's report does
    with progress("baselines"):
        beside = baselines.baselines(judged, codec, baselines.SAMPLE)
    facts = {
        "data": corpus.record(),
        "kind": codec.kind,
        "symbols": len(corpus.whole),
        "split": dict(zip(("training", "validation", "test"), map(len, parts), strict=True)),
        "files": {
            "count": len(corpus.whole.starts),
            "left_out": left_out,
            "duplicates": [[str(file), str(original)] for file, original in duplicates],
            "nearly_empty": [*map(str, small)],
        },
        **about,
        "baselines": {
            **beside,
            "part": "validation" if judged is validation else "all",
            "symbols": len(judged),
            "sample": min(len(judged), baselines.SAMPLE),
        },
    }
    return facts, [*faults, *_file_faults(len(paths), duplicates, small)]


def _of_text(
    config: Config, corpus: Corpus, paths: Sequence[Path], progress: Progress
) -> tuple[dict[str, Any], list[Fault]]:
    part, codec = corpus.whole, corpus.codec
    with progress("counting", len(part), unit="symbols") as bar:
        facts = text.facts(part, codec, bar.update)
    if config.data.of_rows:  # a mark in a row is not a file's
        facts = dataclasses.replace(facts, marked=0)
    of_files = [*text.file_faults(paths, config.data)] if codec.kind == "text" else []
    cuts = {config.data.document, *(fault.keys.get("document") for fault in of_files)}
    is_list = "line" in cuts or (config.data.cuts_files and "blank_line" not in cuts)
    of_text = text.faults(facts, codec.kind, config.data.encoding, is_list=is_list)
    return {"text": facts.record(codec)}, [*of_text, *of_files]


def _of_sound(
    corpus: Corpus, codec: Quantiser, paths: Sequence[Path], progress: Progress
) -> tuple[dict[str, Any], list[Fault]]:
    """Of the sound and of its files; a data set may have none of its own here."""
    seconds = len(corpus.whole) / codec.symbol_rate
    levels = sound.levels_before_gain(SoundPart(corpus.whole, codec))
    with progress("listening", len(paths), unit="files") as bar:
        of_files = sound.facts(paths, bar.update)
    facts = {
        "seconds": seconds,
        "sample_rate": codec.sample_rate,
        "levels": codec.levels,
        "peak": levels.peak,
        "offset": levels.offset,
        "silence": levels.silence,
        "snr_db": corpus.snr,
        **(of_files.record() if paths else {}),
    }
    faults = sound.faults(levels, codec, seconds, of_files if paths else None, corpus.snr)
    return {"sound": facts}, [*faults]


def _alike_and_small(
    files: Sequence[Path], watch: Callable[[int], None]
) -> tuple[list[tuple[Path, Path]], list[Path]]:
    """Files with the earlier one of the same content, and those of less than 64 bytes.

    `watch` is told how many files were looked at.
    """
    by_size = defaultdict[int, list[Path]](list)
    for file in files:
        with contextlib.suppress(OSError):
            by_size[file.stat().st_size].append(file)
    alike = [file for same in by_size.values() if len(same) > 1 for file in same]
    duplicates, first = [], dict[str, Path]()
    for number, file in enumerate(alike, 1 + len(files) - len(alike)):
        with contextlib.suppress(BadFileError):
            digest = hashlib.sha256()
            for block in blocks(file):
                digest.update(block)
            original = first.setdefault(digest.hexdigest(), file)
            if original is not file:
                duplicates.append((file, original))
        watch(number)
    small = [file for size, same in by_size.items() if size < _NEARLY_EMPTY for file in same]
    return duplicates, small


def _file_faults(
    count: int, duplicates: Sequence[tuple[Path, Path]], small: Sequence[Path]
) -> Iterator[Fault]:
    if duplicates:
        file, original = duplicates[0]
        yield Fault(
            f"{len(duplicates)} of {count} files are there twice, such as "
            f"{file}, the same as {original}: leave the copies out"
        )
    if small and count > 1:
        yield Fault(f"{len(small)} of {count} files have less than 64 bytes, such as {small[0]}")
