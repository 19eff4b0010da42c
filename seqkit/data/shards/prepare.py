"""Files of text, bytes or sound become shards, which several processes write."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from seqkit import disk
from seqkit.config import DataConfig
from seqkit.console import Progress, unseen
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
from seqkit.data.texts import Texts
from seqkit.errors import ConfigError, DataError
from seqkit.plugins import Catalogue
from seqkit.symbols import Integers, symbol_dtype


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
        overwrite: remove the shards that are there.
        progress: shows how far the files were read.
        processes: how many work; by default one for each core, and one for little data.

    Raises:
        ConfigError: neither path nor data set, or keys that do not fit the codec.
        DataError: the data cannot be read, or changed while it was read.
        OutputError: `out` holds something else, or cannot be written.
        DeviceError: a process was killed.
    """
    folders = Folders(disk.cache_dir(), notice, progress)
    sound, located = find(data, None, catalogue, folders)
    for path in located.paths:
        if is_shards(path):
            raise DataError(f"{path} holds shards already: a training reads them as they are")
        if out.resolve().is_relative_to(path.resolve()):
            raise ConfigError(f"out={out} lies in data.path: give a folder outside of it")
    files, search = (
        audio_corpus.chosen(data, located) if sound else text_corpus.chosen(data, located, None)
    )
    located = corpus_cache.described(located, files)
    size = sum(stamp_of(file)[0] for file in files.values())
    source = Source(located, files, {}, size, out, Meter(progress))
    names = Recordings(data, source).order() if sound else sorted(files, key=located.part_of)
    source = replace(source, files={name: files[name] for name in names})
    job = Job(data, located, len(files) > 1, out)
    crew = Crew(processes, source.meter)
    with journal.claimed(out, overwrite=overwrite):
        done = Journal(out, identity(source.files, asked_for(data)), overwrite=overwrite)
        if not done.settings:
            fit = fitting.of_sound if sound else fitting.of_text
            done.begin(fit(job, source, crew, catalogue))
        begun = done.settings
        bad = {int(number): reason for number, reason in begun["bad"].items()}
        codec = codecs.from_spec(begun["codec"], catalogue)
        most = None if sound else size * symbol_dtype(codec.size).itemsize
        job = replace(job, codec=codec, most=most)
        written = _write(job, [*source.files.values()], bad, done, crew)
        index, notes = _index(job, source, written, bad, search)
        index.save(out)
        done.end()
    for note in notes:
        notice(note)
    return index


def _write(
    job: Job, files: Sequence[Path], bad: Mapping[int, str], done: Journal, crew: Crew
) -> list[Written]:
    """Write the shards that are not there yet, and check those that are."""
    assert job.codec is not None
    work = plan(files, cut=cut_of(job.codec.kind, job.config), without=bad)
    to_write = [ToWrite(n, extents, done.written.get(n)) for n, extents in enumerate(work)]
    written = dict(done.written)
    each = crew.each("encoding", tasks.write, job, to_write, size_of(work))
    with contextlib.closing(each) as results:
        for number, one in results:
            if written.get(number) != one:
                done.add(number, one)
                written[number] = one
    for extents in work:
        for extent in extents:
            extent.check_unchanged()
    return [written[number] for number in range(len(work))]


def _index(
    job: Job, source: Source, written: Sequence[Written], bad: Mapping[int, str], search: Search
) -> tuple[Index, list[str]]:
    """The index of what was written, and what the user is told; the starts are written."""
    codec, located, names = job.codec, job.located, [*source.files]
    assert codec is not None
    numbers, begins = _documents(written, of_rows=job.config.of_rows)
    found: Recordings | Texts
    if isinstance(codec, Quantiser):
        found = Recordings(job.config, source)
    else:
        found = Texts(job.config, source, codec)
        found.bad.errors += [BadFileError(source.files[names[n]], why) for n, why in bad.items()]
    for one in written:
        found.include(one.findings)
    unreadable = len(found.bad.errors) + len(search.bad.errors)
    if isinstance(found, Recordings):
        skipped, notes = unreadable + found.left_out.total(), [*found.notes(len(begins))]
        nothing = found.nothing_left()
    else:
        skipped, notes = found.skipped, [*found.notes()]
        nothing = f"{located}: nothing is left of the text: all of it was skipped"
    if not len(begins):
        raise DataError(nothing)
    files, first, documents = np.unique(numbers, return_index=True, return_counts=True)
    read = [names[number] for number in files]
    parts = dict[int, int]()
    for name, begin in zip(read, begins[first].tolist(), strict=True):
        parts.setdefault(located.part_of(name), begin)
    index = Index(
        name=located.name,
        codec=codec.to_spec(),
        settings=settings_of(job.config, codec),
        dtype=symbol_dtype(codec.size).name,
        shards=[one.shard for one in written if one.shard is not None],
        names=read,
        documents=documents.tolist(),
        starts_sha256=starts.save(job.folder, begins),
        skipped=skipped,
        unreadable_files=unreadable,
        whole_documents=isinstance(codec, Quantiser) and len(begins) > 1,
        validation_start=parts.get(1),
        test_start=parts.get(2),
        snr=found.snr if isinstance(found, Recordings) else None,
        licence=located.licence,
        citation=located.citation,
    )
    if len(names) > 1 or search.left_out or search.bad.errors:
        if isinstance(found, Recordings):
            notes = search.added_to(notes, len(begins))
        else:
            notes.append(search.note(len(begins)))
    return index, notes


def _documents(written: Sequence[Written], *, of_rows: bool) -> tuple[Integers, Integers]:
    """Of every document (D,) the number of its file, and where it starts."""
    found = [document for one in written for document in one.documents]
    numbers, sizes = np.array(found, np.int64).reshape(-1, 2).T
    begins = np.cumsum(sizes) - sizes
    if of_rows:
        return numbers, begins
    whole = np.diff(numbers, prepend=-1) != 0  # else it goes on from the shard before
    return numbers[whole], begins[whole]
