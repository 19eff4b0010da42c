"""The codec of data that becomes shards: a first pass over the files, if it depends on them."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.data import audio_corpus, codecs, text_corpus
from seqkit.data.codecs import Bytes, Characters, code_points
from seqkit.data.corpus_cache import Source
from seqkit.data.recordings import Loudness, Recordings
from seqkit.data.shards import tasks
from seqkit.data.shards.crew import Crew
from seqkit.data.shards.plan import cut_of, plan, size_of
from seqkit.data.shards.tasks import Counted, Job
from seqkit.data.text_encoder import pieces_of
from seqkit.foundation.errors import DataError
from seqkit.foundation.plugins import Catalogue
from seqkit.symbols import Integers


def of_sound(job: Job, source: Source, crew: Crew, catalogue: Catalogue) -> dict[str, Any]:
    """As `of_text` for sound, whose length is not told; raises as `Recordings.codec`."""
    recordings = Recordings(job.config, source)

    def measured(rate: int) -> Loudness:
        work = plan([*source.files.values()], cut=None)
        found = dict[int, Loudness]()
        each = crew.each(
            "measuring the level", tasks.measure, job, [(rate, w) for w in work], size_of(work)
        )
        with contextlib.closing(each) as results:
            found.update(results)
        whole = Loudness()
        for _, one in sorted(found.items()):  # sums are rounded by their order
            whole.include(one)
        return whole

    codec = recordings.codec(audio_corpus.quantiser_kind(job.config, catalogue), measured)
    return {"codec": codecs.spec_of(codec), "bad": {}, "symbols": None}


def of_text(job: Job, source: Source, crew: Crew, catalogue: Catalogue) -> dict[str, Any]:
    """The spec of a codec that fits the text, and which files are no text, by their numbers.

    With them how many symbols there are at least, None where that is not known.

    Raises:
        DataError: a file cannot be read; or all are left out.
    """
    config, files = job.config, [*source.files.values()]
    kind = text_corpus.codec_kind(config, files, catalogue)
    characters = issubclass(kind, Characters)
    bad: dict[str, str] = {}
    counts = np.zeros(0, np.int64)
    if kind.kind == "text" and (characters or config.on_bad_file == "skip"):
        counts, bad = _count(job, files, crew)
    if len(bad) == len(files):
        raise DataError(f"{job.located}: nothing is left of the text: {next(iter(bad.values()))}")
    if characters:
        codec = Characters.from_counts(counts, config.max_vocabulary)
        known = int(counts[code_points(codec.vocabulary)].sum())
        return {"codec": codecs.spec_of(codec), "bad": bad, "symbols": known}
    good = [file for number, file in enumerate(files) if str(number) not in bad]
    size = sum(file.stat().st_size for file in good)
    least = size if kind is Bytes and not config.of_rows else None
    with codecs.failures(kind, "fit"), crew.meter.shown("finding the characters", size):
        pieces = (p for file in good for p in pieces_of(file, kind.kind, config, crew.meter))
        try:
            spec = codecs.spec_of(kind.fit(pieces, config.max_vocabulary))
            return {"codec": spec, "bad": bad, "symbols": least}
        except ValueError as error:
            raise DataError(f"{job.located}: {error}") from error


def _count(job: Job, files: Sequence[Path], crew: Crew) -> tuple[Integers, dict[str, str]]:
    """How often each code point occurs in the files that are text, and why the others are not."""
    work = plan(files, cut=cut_of("text", job.config))
    found = dict[int, Counted]()
    each = crew.each("finding the characters", tasks.count, job, work, size_of(work))
    with contextlib.closing(each) as results:
        found.update(results)
    bad = {str(number): why for one in found.values() for number, why in one.bad}
    counts = np.zeros(1, np.int64)
    for one in found.values():
        for number, points, times in one.counts:
            if str(number) not in bad:
                longer = max(len(counts), int(points.max(initial=0)) + 1)
                counts = np.pad(counts, (0, longer - len(counts)))
                counts[points] += times
    return counts, bad
