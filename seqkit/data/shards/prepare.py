"""Files of text, bytes or sound become shards, which several processes write."""

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import audio_corpus, codecs, corpus_cache, text_corpus
from seqkit.data.bad_files import BadFileError
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus_cache import Source
from seqkit.data.datasets import Folders
from seqkit.data.files import Search
from seqkit.data.load import find
from seqkit.data.meter import Meter
from seqkit.data.recordings import Recordings
from seqkit.data.shards import fitting, journal, starts, tasks
from seqkit.data.shards.crew import Crew
from seqkit.data.shards.index import Index, is_shards
from seqkit.data.shards.journal import Journal
from seqkit.data.shards.plan import cut_of, identity, plan, size_of, stamp_of
from seqkit.data.shards.settings import asked_for, settings_of
from seqkit.data.shards.tasks import Job, ToWrite, Written
from seqkit.data.text_encoder import Texts
from seqkit.data.text_reading import table_hints
from seqkit.foundation import disk
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.plugins import Catalogue
from seqkit.symbols import symbol_dtype

_OF_SOUND, _OF_TEXT = 2, 1  # formats of the findings that a journal keeps


def prepare(
    data: DataConfig,
    out: Path,
    *,
    catalogue: Catalogue,
    notice: Callable[[str], None],
    overwrite: bool = False,
    progress: Progress = unseen,
    processes: int | None = None,
) -> Index:
    """Turn `data.path`, or `data.dataset`, into shards, or go on with what was begun in `out`.

    Args:
        data: the `data.*` keys.
        out: the folder of the shards.
        catalogue: where data sets and codecs are looked for.
        notice: tells the user what was found.
        overwrite: replace shards that are there, once the new ones are whole.
        progress: shows how far the files were read.
        processes: how many work; by default one for each core, and one for little data.

    Raises:
        ConfigError: neither path nor data set, or keys that do not fit the codec.
        DataError: the data cannot be read, or changed while it was read.
        OutputError: `out` holds something else, or cannot be written.
        DeviceError: a process was killed.
    """
    folders = Folders(disk.cache_dir(), notice, progress)
    found = find(data, None, catalogue, folders)
    located, files, search = found.located, found.files, found.search
    sound = search.choice.kind == "audio"
    for path in located.paths:
        if is_shards(path):
            raise DataError(f"{path} holds shards already: a training reads them as they are")
        if out.resolve().is_relative_to(path.resolve()):
            raise ConfigError(f"out={out} lies in data.path: give a folder outside of it")
    if sound:
        audio_corpus.check_files(located)
    else:
        files = text_corpus.readable(data, located, files, search)
    located = corpus_cache.described(located, files)
    size = sum(stamp_of(file)[0] for file in files.values())
    source = Source(located, files, {}, size, out, Meter(progress))
    names = Recordings(data, source).order() if sound else sorted(files, key=located.part_of)
    source = replace(source, files={name: files[name] for name in names})
    job = Job(data, located, len(files) > 1, out)
    crew = Crew(processes, source.meter)
    with journal.claimed(out, overwrite=overwrite):
        asked = identity(source.files, asked_for(data))
        done = Journal(out, asked, _OF_SOUND if sound else _OF_TEXT, overwrite=overwrite)
        index, notes = done.finished(), list[str]()
        if index is None:
            if not done.settings:
                fit = fitting.of_sound if sound else fitting.of_text
                done.begin(fit(job, source, crew, catalogue))
            index, notes = _all_written(job, source, search, done, crew, catalogue)
        done.end(index)
    for note in notes:
        notice(note)
    return index


def _all_written(
    job: Job, source: Source, search: Search, done: Journal, crew: Crew, catalogue: Catalogue
) -> tuple[Index, list[str]]:
    """The index of all shards, once they are written, and what the user is told."""
    begun = done.settings
    bad = {int(number): reason for number, reason in begun["bad"].items()}
    codec = codecs.from_spec(begun["codec"], catalogue)
    itemsize = symbol_dtype(codec.size).itemsize
    most = None if isinstance(codec, Quantiser) else source.bytes * itemsize
    if (least := begun.get("symbols")) is not None:
        done.require_room(least * itemsize)
    job = replace(job, folder=done.place, codec=codec, most=most)
    written = _write(job, [*source.files.values()], bad, done, crew)
    return _index(job, source, written, bad, search)


def _write(
    job: Job, files: Sequence[Path], bad: Mapping[int, str], done: Journal, crew: Crew
) -> list[Written]:
    """Write the shards that are not there yet, and check those that are."""
    assert job.codec is not None
    work = plan(files, cut=cut_of(job.codec.kind, job.config), without=bad)
    to_write = [ToWrite(n, extents, done.written.get(n)) for n, extents in enumerate(work)]
    each = crew.each("encoding", tasks.write, job, to_write, size_of(work))
    with contextlib.closing(each) as results:
        for number, one in results:
            if done.written.get(number) != one:
                done.add(number, one)
    for extents in work:
        for extent in extents:
            extent.check_unchanged()
    return [done.written[number] for number in range(len(work))]


def _index(
    job: Job, source: Source, written: Sequence[Written], bad: Mapping[int, str], search: Search
) -> tuple[Index, list[str]]:
    """The index of what was written, and what the user is told; the starts are written."""
    codec, located, names = job.codec, job.located, [*source.files]
    assert codec is not None
    found: Recordings | Texts
    if isinstance(codec, Quantiser):
        found = Recordings(job.config, source)
    else:
        found = Texts(job.config, source, codec)
        found.bad.errors += [BadFileError(source.files[names[n]], why) for n, why in bad.items()]
    for one in written:
        found.include(one.findings)
    if not any(one.shard for one in written):
        if isinstance(found, Recordings):
            raise DataError(found.nothing_left())
        raise DataError(f"{located}: nothing is left of the text: all of it was skipped")
    counts, first, starts_sha256 = _documents(job.folder, written, of_rows=job.config.of_rows)
    total = sum(counts.values())
    unreadable = len(found.bad.errors) + len(search.bad.errors)
    if isinstance(found, Recordings):
        skipped, notes = len(search.bad.errors) + found.skipped, [*found.notes(total)]
    else:
        skipped, notes = found.seen.skipped, [*found.notes()]
        if codec.kind == "text":
            notes += table_hints(source.files.values(), job.config)
    parts = dict[int, int]()
    for number, begin in first.items():
        parts.setdefault(located.part_of(names[number]), begin)
    index = Index(
        name=located.name,
        codec=codec.to_spec(),
        settings=settings_of(job.config, codec),
        dtype=symbol_dtype(codec.size).name,
        shards=[one.shard for one in written if one.shard is not None],
        names=[names[number] for number in counts],
        documents=[*counts.values()],
        starts_sha256=starts_sha256,
        skipped=skipped,
        unreadable_files=unreadable,
        whole_documents=isinstance(codec, Quantiser) and total > 1,
        validation_start=parts.get(1),
        test_start=parts.get(2),
        snr=found.snr if isinstance(found, Recordings) else None,
        licence=located.licence,
        citation=located.citation,
    )
    if len(names) > 1 or search.left_out or search.bad.errors:
        notes.append(search.note(total))
    return index, notes


def _documents(
    folder: Path, written: Sequence[Written], *, of_rows: bool
) -> tuple[dict[int, int], dict[int, int], str]:
    """Write where documents start, shard by shard.

    Returns:
        How many documents each file has, by its number; where its first one starts; and the sha256
        of what was written.
    """
    counts, first = Counter[int](), dict[int, int]()
    most = sum(count for one in written for _, count in one.files)
    before = 0
    with starts.writer(folder, most) as out:
        for one in written:
            if one.shard is None:
                continue
            sizes = starts.read_sizes(folder / one.shard.file, one.sizes_sha256)
            begins = before + np.cumsum(sizes) - sizes
            whole = np.ones(len(begins), np.bool_)
            place = 0
            for number, count in one.files:
                if number in counts and not of_rows:  # it goes on from the shard before
                    whole[place] = False
                counts[number] += int(whole[place : place + count].sum())
                first.setdefault(number, int(begins[place]))
                place += count
            out.add(begins[whole])
            before += one.shard.symbols
    return counts, first, out.sha256
